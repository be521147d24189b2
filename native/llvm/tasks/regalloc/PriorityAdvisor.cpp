// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's greedy allocator asks a policy in which order it takes live ranges: its own advisor for models, with our runner as the model.
#include "llvm/tasks/regalloc/AdvisorSwap.h"
#include "llvm/tasks/regalloc/Conversation.h"
#include "spec/Tasks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/MLModelRunner.h"
#include "llvm/Analysis/TensorSpec.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegAllocPriorityAdvisor.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/SlotIndexes.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include "llvm/IR/Module.h"
#include "llvm/InitializePasses.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace llvm {

/// As llvm/lib/CodeGen/MLRegAllocPriorityAdvisor.h has it, which is not installed; its code is in libLLVM.
class MLPriorityAdvisor : public RegAllocPriorityAdvisor {
public:
  MLPriorityAdvisor(const MachineFunction &MF, const RAGreedy &RA, SlotIndexes *Indexes, MLModelRunner *Runner);

protected:
  float getPriorityImpl(const LiveInterval &LI) const;
  unsigned getPriority(const LiveInterval &LI) const override;

private:
  const DefaultPriorityAdvisor DefaultAdvisor;
  MLModelRunner *const Runner;
};

} // namespace llvm

using namespace llvm;

namespace mlcb {

namespace {

using Feature = priority::advisor;

/// The weight of what must not be spilled, which LLVM has as infinity.
constexpr float Heaviest = 1e30f;

/// Those of LLVM's own, which come before what it does not tell a model.
constexpr size_t LlvmsFeatures = static_cast<size_t>(Feature::hinted);

/// LLVM's view of the policy.
class PriorityModel final : public MLModelRunner {
public:
  PriorityModel(LLVMContext &Context, RegallocConversation &Questions)
      : MLModelRunner(Context, Kind::NoOp, LlvmsFeatures), Questions(Questions) {
    const llvm::TensorSpec Spec = llvm::TensorSpec::createSpec<int64_t>("", {1});
    for (size_t I = 0; I < LlvmsFeatures; ++I)
      setUpBufferForTensor(I, Spec, Questions.policy().bytes(I, 0).data());
  }

  /// Says what LLVM's own answer to the next question is.
  void expect(unsigned OwnAnswer) { Default = Answer = OwnAnswer; }

  /// The answer to it.
  unsigned answer() const { return Answer; }

private:
  void *evaluateUntyped() override {
    ModelRunner &Policy = Questions.policy();
    float &Weight = Policy.tensor<float>(Feature::weight)[0];
    Weight = std::min(Weight, Heaviest);
    if (const std::optional<double> Value = Questions.askValue())
      take(*Value);
    Result = 0; // what LLVM makes of it, nobody looks at
    return &Result;
  }

  void take(double Value) {
    if (std::isnan(Value))
      return Questions.fail({ErrorKind::InvalidArgument, "priority: the policy's answer is no number"});
    // A float holds 24 of the 32 bits that LLVM's own priorities have: those of equal floats are in LLVM's order.
    if (static_cast<float>(Value) != static_cast<float>(Default))
      Answer = static_cast<unsigned>(std::clamp<double>(Value, 0, std::numeric_limits<unsigned>::max()));
  }

  RegallocConversation &Questions;
  unsigned Default = 0, Answer = 0;
  float Result = 0;
};

const RegAllocPriorityAdvisor &asAdvisor(const RegAllocPriorityAdvisor &Advisor) { return Advisor; }

class PolicyPriorityAdvisor final : public RegAllocPriorityAdvisor {
public:
  PolicyPriorityAdvisor(const MachineFunction &MF, const RAGreedy &Greedy, SlotIndexes &Indexes, PriorityModel &Model,
                        RegallocConversation &Questions)
      : RegAllocPriorityAdvisor(MF, Greedy, &Indexes), Own(MF, Greedy, &Indexes), Asking(MF, Greedy, &Indexes, &Model), Model(Model),
        Questions(Questions), Pressures(isTold() ? meanPressures() : SmallVector<float>()) {}

private:
  unsigned getPriority(const LiveInterval &Range) const override {
    const unsigned Default = asAdvisor(Own).getPriority(Range);
    if (Questions.failure())
      return Default;
    Model.expect(Default);
    if (isTold())
      tell(Range, Default);
    (void)asAdvisor(Asking).getPriority(Range);
    return Model.answer();
  }

  bool isTold() const { return !Questions.policy().tensor<float>(Feature::priority_default).empty(); }

  /// What LLVM does not tell a model of a range, and its own answer.
  void tell(const LiveInterval &Range, unsigned Default) const {
    ModelRunner &Policy = Questions.policy();
    Policy.tensor<int64_t>(Feature::hinted)[0] = VRM->hasKnownPreference(Range.reg());
    Policy.tensor<int64_t>(Feature::local)[0] = !Range.empty() && LIS->intervalIsInOneMBB(Range);
    Policy.tensor<int64_t>(Feature::registers)[0] = RegClassInfo.getNumAllocatableRegs(MRI->getRegClass(Range.reg()));
    Policy.tensor<int64_t>(Feature::calls)[0] = callsAcross(Range);
    Policy.tensor<int64_t>(Feature::remaining)[0] = Range.empty() ? 0 : Range.beginIndex().getApproxInstrDistance(Indexes->getLastIndex());
    Policy.tensor<float>(Feature::pressure)[0] = pressure(Range.reg());
    Policy.tensor<float>(Feature::priority_default)[0] = static_cast<float>(Default);
  }

  int64_t callsAcross(const LiveInterval &Range) const {
    const ArrayRef<SlotIndex> Calls = LIS->getRegMaskSlots();
    int64_t Count = 0;
    for (const LiveRange::Segment &Segment : Range)
      Count += lower_bound(Calls, Segment.end) - upper_bound(Calls, Segment.start);
    return Count;
  }

  /// Of each of the target's sets of registers, how many times it would be filled on the average.
  SmallVector<float> meanPressures() const {
    SmallVector<float> Pressures(TRI->getNumRegPressureSets());
    const float Length = std::max(1, Indexes->getZeroIndex().distance(Indexes->getLastIndex()));
    for (unsigned I = 0; I < MRI->getNumVirtRegs(); ++I)
      if (const Register Virtual = Register::index2VirtReg(I); LIS->hasInterval(Virtual))
        for (PSetIterator Set = MRI->getPressureSets(VirtRegOrUnit(Virtual)); Set.isValid(); ++Set)
          Pressures[*Set] += static_cast<float>(LIS->getInterval(Virtual).getSize() * Set.getWeight()) / Length;
    for (auto [Set, Pressure] : enumerate(Pressures))
      Pressure /= static_cast<float>(std::max(1u, RegClassInfo.getRegPressureSetLimit(Set)));
    return Pressures;
  }

  float pressure(Register Virtual) const {
    float Highest = 0;
    for (PSetIterator Set = MRI->getPressureSets(VirtRegOrUnit(Virtual)); Set.isValid(); ++Set)
      Highest = std::max(Highest, Pressures[*Set]);
    return Highest;
  }

  DefaultPriorityAdvisor Own;
  MLPriorityAdvisor Asking;
  PriorityModel &Model;
  RegallocConversation &Questions;
  SmallVector<float> Pressures;
};

class PolicyPriorityProvider final : public RegAllocPriorityAdvisorProvider {
public:
  PolicyPriorityProvider(LLVMContext &Context, RegallocConversation &Questions)
      : RegAllocPriorityAdvisorProvider(AdvisorMode::Default), Model(Context, Questions), Questions(Questions) {}

  std::unique_ptr<RegAllocPriorityAdvisor> getAdvisor(const MachineFunction &MF, const RAGreedy &Greedy, SlotIndexes &Indexes) override {
    if (!Questions.isAbout(MF.getName()))
      return std::make_unique<DefaultPriorityAdvisor>(MF, Greedy, &Indexes);
    return std::make_unique<PolicyPriorityAdvisor>(MF, Greedy, Indexes, Model, Questions);
  }

private:
  PriorityModel Model;
  RegallocConversation &Questions;
};

class DefaultPriorityProvider final : public RegAllocPriorityAdvisorProvider {
public:
  DefaultPriorityProvider() : RegAllocPriorityAdvisorProvider(AdvisorMode::Default) {}

  std::unique_ptr<RegAllocPriorityAdvisor> getAdvisor(const MachineFunction &MF, const RAGreedy &Greedy, SlotIndexes &Indexes) override {
    return std::make_unique<DefaultPriorityAdvisor>(MF, Greedy, &Indexes);
  }
};

/// Asks about those modules that somebody wants to be asked about.
class PriorityAnalysis final : public RegAllocPriorityAdvisorAnalysisLegacy {
public:
  PriorityAnalysis() : RegAllocPriorityAdvisorAnalysisLegacy(AdvisorMode::Default) {}

private:
  bool doInitialization(Module &M) override {
    Questions = openRegalloc("priority", M, *this);
    if (Questions)
      Provider = std::make_unique<PolicyPriorityProvider>(M.getContext(), *Questions);
    else
      Provider = std::make_unique<DefaultPriorityProvider>();
    return false;
  }

  bool doFinalization(Module &) override {
    Provider.reset();
    Questions.reset();
    return false;
  }

  std::shared_ptr<RegallocConversation> Questions;
};

const AdvisorSwap<RegAllocPriorityAdvisorAnalysisLegacy, PriorityAnalysis> Swap(initializeRegAllocPriorityAdvisorAnalysisLegacyPass,
                                                                                "regalloc-enable-priority-advisor");

} // namespace

} // namespace mlcb
