// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The eviction advisor of LLVM's greedy allocator for models, with our runner as the model.
#include "spec/Tasks.h"
#include "llvm/tasks/regalloc/AdvisorAnalysis.h"
#include "llvm/tasks/regalloc/AdvisorSwap.h"

#include "llvm/Analysis/MLModelRunner.h"
#include "llvm/Analysis/TensorSpec.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegAllocEvictionAdvisor.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"
#include "llvm/InitializePasses.h"

#include <cmath>
#include <map>
#include <utility>

using namespace llvm;

namespace mlcb {

namespace {

using EvictionFeature = eviction::advisor;
using Registers = SmallVector<MCRegister, 32>;

constexpr size_t Columns = 33, Candidate = Columns - 1;

/// LLVM's features are a mask, and then ours up to the default.
constexpr size_t NumModelFeatures = 1 + static_cast<size_t>(EvictionFeature::eviction_default);

/// Infinity divided by infinity is no number: such a weight counts as the heaviest.
void replaceNaNs(std::span<float> Values) {
  for (float &Value : Values)
    if (std::isnan(Value))
      Value = 1;
}

/// LLVM's view of the policy.
class EvictionModel final : public MLModelRunner {
public:
  EvictionModel(LLVMContext &Context, ArrayRef<llvm::TensorSpec> Specs, RegallocConversation &Talk)
      : MLModelRunner(Context, Kind::NoOp, Specs.size()), Talk(Talk) {
    setUpBufferForTensor(0, Specs[0], Mask);
    for (auto [Index, Spec] : enumerate(Specs.drop_front()))
      setUpBufferForTensor(1 + Index, Spec, Talk.policy().bytes(Index, 0).data());
  }

  /// Sets the next question: the registers in the order of the columns, and LLVM's own answer.
  void expect(Registers InOrder, MCRegister Default) {
    Order = std::move(InOrder);
    const auto At = find(Order, Default);
    DefaultColumn = Default ? At - Order.begin() : Candidate;
    Answer.reset();
  }

  /// The register that was chosen of those expected, invalid for none; nothing where LLVM's own answer is to stand.
  std::optional<MCRegister> chosen() const {
    if (!Answer)
      return std::nullopt;
    return std::cmp_equal(*Answer, Candidate) ? MCRegister() : Order[*Answer];
  }

private:
  void *evaluateUntyped() override {
    if (isAsked())
      Answer = Talk.askIndex();
    if (Answer && !Talk.policy().tensor<int8_t>(EvictionFeature::action_mask)[*Answer]) {
      Talk.abandon({ErrorKind::InvalidArgument, "code generation asks otherwise the second time"});
      Answer.reset();
    }
    Result = Answer.value_or(Candidate);
    return &Result;
  }

  /// Fills what LLVM does not. Where its own answer is none that a model may give, it stands.
  bool isAsked() {
    ModelRunner &Policy = Talk.policy();
    const std::span<int8_t> Allowed = Policy.tensor<int8_t>(EvictionFeature::action_mask);
    for (size_t I = 0; I < Columns; ++I)
      Allowed[I] = Mask[I] && !Talk.isForbidden(static_cast<int64_t>(I)) && (I == Candidate || I < Order.size());
    if (DefaultColumn >= Columns || !Mask[DefaultColumn] || !is_contained(Allowed, 1))
      return false;
    for (EvictionFeature F : {EvictionFeature::use_def_density, EvictionFeature::progress})
      replaceNaNs(Policy.tensor<float>(F));
    if (const std::span<int64_t> Own = Policy.tensor<int64_t>(EvictionFeature::eviction_default); !Own.empty())
      Own[0] = static_cast<int64_t>(DefaultColumn);
    return true;
  }

  RegallocConversation &Talk;
  int64_t Mask[Columns] = {};
  Registers Order;
  size_t DefaultColumn = Candidate;
  std::optional<int64_t> Answer;
  int64_t Result = 0;
};

class PolicyEvictionAdvisor final : public RegAllocEvictionAdvisor {
public:
  PolicyEvictionAdvisor(const MachineFunction &MF, const RAGreedy &Greedy, std::unique_ptr<RegAllocEvictionAdvisor> Asking, EvictionModel &Model,
                        RegallocConversation &Talk)
      : RegAllocEvictionAdvisor(MF, Greedy), Own(MF, Greedy), Asking(std::move(Asking)), Model(Model), Talk(Talk) {}

private:
  MCRegister tryFindEvictionCandidate(const LiveInterval &Range, const AllocationOrder &Order, uint8_t CostPerUseLimit,
                                      const SmallVirtRegSet &Fixed) const override {
    const MCRegister Default = static_cast<const RegAllocEvictionAdvisor &>(Own).tryFindEvictionCandidate(Range, Order, CostPerUseLimit, Fixed);
    if (Talk.failure())
      return Default;
    Registers InOrder = registersInOrder(Range.reg());
    if (InOrder.size() > Candidate) // LLVM's advisor has no more columns, and does not look
      return Default;
    Model.expect(std::move(InOrder), Default);
    const MCRegister Answer = Asking->tryFindEvictionCandidate(Range, Order, CostPerUseLimit, Fixed);
    const std::optional<MCRegister> Chosen = Model.chosen();
    if (Chosen && *Chosen != Answer)
      Talk.abandon({ErrorKind::InvalidArgument, "LLVM takes registers in another order than expected"});
    return Chosen && *Chosen == Answer ? Answer : Default;
  }

  bool canEvictHintInterference(const LiveInterval &Range, MCRegister Hint, const SmallVirtRegSet &Fixed) const override {
    return static_cast<const RegAllocEvictionAdvisor &>(Own).canEvictHintInterference(Range, Hint, Fixed);
  }

  /// As AllocationOrder, whose header is not installed: what the target prefers, then the rest of the class.
  Registers registersInOrder(Register Range) const {
    const ArrayRef<MCPhysReg> Class = RegClassInfo.getOrder(MRI->getRegClass(Range));
    SmallVector<MCPhysReg, 16> Hints;
    const bool OnlyHints = TRI->getRegAllocationHints(Range, Class, Hints, MF, VRM, Matrix);
    Registers InOrder(Hints.begin(), Hints.end());
    if (!OnlyHints)
      for (MCPhysReg Register : Class)
        if (!is_contained(Hints, Register))
          InOrder.push_back(Register);
    return InOrder;
  }

  DefaultEvictionAdvisor Own;
  std::unique_ptr<RegAllocEvictionAdvisor> Asking;
  EvictionModel &Model;
  RegallocConversation &Talk;
};

/// The members of LLVM's provider of advisors that ask a model (llvm/lib/CodeGen/MLRegAllocEvictAdvisor.cpp), which makes a model of its
/// own where it finds none.
struct ModelProvider : RegAllocEvictionAdvisorProvider {
  std::vector<llvm::TensorSpec> Features;
  std::unique_ptr<MLModelRunner> Model;
};

/// Whether it is the provider that we take it for: it has the features that are declared, and no model yet.
bool isAsExpected(const ModelProvider &Provider, const AgentSpec &Declared) {
  if (Provider.Features.size() != NumModelFeatures || Provider.Model || Provider.Features[0].getTotalTensorBufferSize() != Columns * 8)
    return false;
  return all_of(enumerate(ArrayRef(Provider.Features).drop_front()), [&](auto Each) {
    const TensorSpec &Ours = Declared.Inputs[Each.index()];
    return Each.value().name() == Ours.Name && Each.value().getElementByteSize() == byteSize(Ours.Type) &&
           Each.value().getElementCount() == Ours.maxElements();
  });
}

/// Makes the advisors of one conversation.
class AskingProvider {
public:
  /// Where this LLVM's advisor for models is another than the known one, LLVM decides, and the conversation fails.
  AskingProvider(LLVMContext &Context, RegallocConversation &Talk) : Talk(Talk), Asking(createReleaseModeAdvisorProvider(Context)) {
    auto &Members = static_cast<ModelProvider &>(*Asking);
    if (!isAsExpected(Members, Talk.policy().spec().Task.Agents[0])) {
      Talk.abandon({ErrorKind::InvalidArgument, "this LLVM's eviction advisor is not the one that the plugin was built for"});
      return;
    }
    Model = new EvictionModel(Context, Members.Features, Talk);
    Members.Model.reset(Model);
  }

  std::unique_ptr<RegAllocEvictionAdvisor> getAdvisor(const MachineFunction &MF, const RAGreedy &Greedy, MachineBlockFrequencyInfo *Frequencies,
                                                      MachineLoopInfo *Loops) {
    if (!Model)
      return std::make_unique<DefaultEvictionAdvisor>(MF, Greedy);
    return std::make_unique<PolicyEvictionAdvisor>(MF, Greedy, Asking->getAdvisor(MF, Greedy, Frequencies, Loops), *Model, Talk);
  }

private:
  RegallocConversation &Talk;
  std::unique_ptr<RegAllocEvictionAdvisorProvider> Asking; // as ModelProvider, nothing could be the target of a virtual call
  EvictionModel *Model = nullptr;                          // owned by it
};

class EvictionProvider final : public RegAllocEvictionAdvisorProvider {
public:
  static constexpr StringLiteral Task = "eviction";

  EvictionProvider(LLVMContext &Context, const RegallocConversations &Talks)
      : RegAllocEvictionAdvisorProvider(AdvisorMode::Default, Context), Talks(Talks) {
    for (const auto &Talk : Talks.Talks)
      Asking.try_emplace(Talk.get(), Context, *Talk);
  }

  std::unique_ptr<RegAllocEvictionAdvisor> getAdvisor(const MachineFunction &MF, const RAGreedy &Greedy, MachineBlockFrequencyInfo *Frequencies,
                                                      MachineLoopInfo *Loops) override {
    RegallocConversation *Talk = Talks.about(MF.getName());
    if (!Talk)
      return std::make_unique<DefaultEvictionAdvisor>(MF, Greedy);
    return Asking.at(Talk).getAdvisor(MF, Greedy, Frequencies, Loops);
  }

private:
  const RegallocConversations &Talks;
  std::map<const RegallocConversation *, AskingProvider> Asking;
};

using EvictionAnalysis = AdvisorAnalysis<RegAllocEvictionAdvisorAnalysisLegacy, EvictionProvider>;

const AdvisorSwap<RegAllocEvictionAdvisorAnalysisLegacy, EvictionAnalysis> SwapEviction(initializeRegAllocEvictionAdvisorAnalysisLegacyPass,
                                                                                        "regalloc-enable-advisor");

} // namespace

} // namespace mlcb
