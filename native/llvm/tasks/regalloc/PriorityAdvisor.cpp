// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The priority advisor of LLVM's greedy allocator for models, with our runner as the model.
#include "spec/Tasks.h"
#include "llvm/tasks/regalloc/AdvisorAnalysis.h"
#include "llvm/tasks/regalloc/AdvisorSwap.h"
#include "llvm/tasks/regalloc/LiveRanges.h"

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
#include "llvm/InitializePasses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace llvm {

/// As llvm/lib/CodeGen/MLRegAllocPriorityAdvisor.h has it, which is not installed; its code is in libLLVM.
// NOLINTNEXTLINE(misc-use-internal-linkage)
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

using PriorityFeature = priority::advisor;

/// Those of LLVM's own, which come before what it does not tell a model.
constexpr size_t LlvmsFeatures = static_cast<size_t>(PriorityFeature::hinted);

/// LLVM's view of the policy.
class PriorityModel final : public MLModelRunner {
public:
  PriorityModel(LLVMContext &Context, RegallocConversation &Talk)
      : MLModelRunner(Context, Kind::NoOp, LlvmsFeatures), Talk(Talk), Heaviest(static_cast<float>(declared(PriorityFeature::weight).High)) {
    const llvm::TensorSpec Spec = llvm::TensorSpec::createSpec<int64_t>("", {1});
    for (size_t I = 0; I < LlvmsFeatures; ++I)
      setUpBufferForTensor(I, Spec, Talk.policy().bytes(I, 0).data());
  }

  /// Sets LLVM's own answer to the next question.
  void expect(unsigned OwnAnswer) { Default = Answer = OwnAnswer; }

  /// The answer to it.
  unsigned answer() const { return Answer; }

private:
  void *evaluateUntyped() override {
    ModelRunner &Policy = Talk.policy();
    float &Weight = Policy.tensor<float>(PriorityFeature::weight)[0];
    Weight = std::min(Weight, Heaviest);
    if (const std::optional<double> Value = Talk.askValue())
      take(*Value);
    Result = 0; // the priority that LLVM derives from it is not used
    return &Result;
  }

  void take(double Value) {
    if (std::isnan(Value))
      return (void)Talk.abandon({ErrorKind::InvalidArgument, "priority: the policy's answer is no number"});
    // A float holds 24 of the 32 bits that LLVM's own priorities have: those of equal floats are in LLVM's order.
    if (static_cast<float>(Value) != static_cast<float>(Default))
      Answer = static_cast<unsigned>(std::clamp<double>(Value, 0, std::numeric_limits<unsigned>::max()));
  }

  const mlcb::TensorSpec &declared(PriorityFeature F) const { return Talk.policy().spec().Task.Agents[0].Inputs[static_cast<size_t>(F)]; }

  RegallocConversation &Talk;
  const float Heaviest; // weight of a range that must not be spilled, which LLVM has as infinity
  unsigned Default = 0, Answer = 0;
  float Result = 0;
};

class PolicyPriorityAdvisor final : public RegAllocPriorityAdvisor {
public:
  PolicyPriorityAdvisor(const MachineFunction &MF, const RAGreedy &Greedy, SlotIndexes &Indexes, PriorityModel &Model, RegallocConversation &Talk)
      : RegAllocPriorityAdvisor(MF, Greedy, &Indexes), Own(MF, Greedy, &Indexes), Asking(MF, Greedy, &Indexes, &Model), Model(Model), Talk(Talk),
        Pressures(hasContext() ? meanPressures() : SmallVector<float>()) {}

private:
  unsigned getPriority(const LiveInterval &Range) const override {
    const unsigned Default = static_cast<const RegAllocPriorityAdvisor &>(Own).getPriority(Range);
    if (Talk.failure())
      return Default;
    Model.expect(Default);
    if (hasContext())
      writeContext(Range, Default);
    (void)static_cast<const RegAllocPriorityAdvisor &>(Asking).getPriority(Range);
    return Model.answer();
  }

  bool hasContext() const { return !Talk.policy().tensor<float>(PriorityFeature::priority_default).empty(); }

  /// The features of a range that LLVM gives no model, and its own answer.
  void writeContext(const LiveInterval &Range, unsigned Default) const {
    ModelRunner &Policy = Talk.policy();
    Policy.tensor<int64_t>(PriorityFeature::hinted)[0] = VRM->hasKnownPreference(Range.reg());
    Policy.tensor<int64_t>(PriorityFeature::local)[0] = !Range.empty() && LIS->intervalIsInOneMBB(Range);
    Policy.tensor<int64_t>(PriorityFeature::registers)[0] = RegClassInfo.getNumAllocatableRegs(MRI->getRegClass(Range.reg()));
    Policy.tensor<int64_t>(PriorityFeature::calls)[0] = callsAcross(Range, *LIS);
    Policy.tensor<int64_t>(PriorityFeature::remaining)[0] = Range.empty() ? 0 : Range.beginIndex().getApproxInstrDistance(Indexes->getLastIndex());
    Policy.tensor<float>(PriorityFeature::pressure)[0] = pressure(Range.reg());
    Policy.tensor<float>(PriorityFeature::priority_default)[0] = static_cast<float>(Default);
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
  RegallocConversation &Talk;
  SmallVector<float> Pressures;
};

class PriorityProvider final : public RegAllocPriorityAdvisorProvider {
public:
  static constexpr StringLiteral Task = "priority";

  PriorityProvider(LLVMContext &Context, const RegallocConversations &Talks) : RegAllocPriorityAdvisorProvider(AdvisorMode::Default), Talks(Talks) {
    for (const auto &Talk : Talks.Talks)
      Models.try_emplace(Talk.get(), Context, *Talk);
  }

  std::unique_ptr<RegAllocPriorityAdvisor> getAdvisor(const MachineFunction &MF, const RAGreedy &Greedy, SlotIndexes &Indexes) override {
    RegallocConversation *Talk = Talks.about(MF.getName());
    if (!Talk)
      return std::make_unique<DefaultPriorityAdvisor>(MF, Greedy, &Indexes);
    return std::make_unique<PolicyPriorityAdvisor>(MF, Greedy, Indexes, Models.at(Talk), *Talk);
  }

private:
  const RegallocConversations &Talks;
  std::map<const RegallocConversation *, PriorityModel> Models;
};

using PriorityAnalysis = AdvisorAnalysis<RegAllocPriorityAdvisorAnalysisLegacy, PriorityProvider>;

const AdvisorSwap<RegAllocPriorityAdvisorAnalysisLegacy, PriorityAnalysis> SwapPriority(initializeRegAllocPriorityAdvisorAnalysisLegacyPass,
                                                                                        "regalloc-enable-priority-advisor");

} // namespace

} // namespace mlcb
