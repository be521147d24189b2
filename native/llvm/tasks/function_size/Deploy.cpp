// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/LinkTime.h"
#include "llvm/deploy/ModuleGuard.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/deploy/Takeover.h"
#include "llvm/pipeline/CodeOptimizations.h"
#include "llvm/process/ForkedProbe.h"
#include "llvm/task/Parameters.h"
#include "llvm/tasks/function_size/CodeWays.h"
#include "llvm/tasks/function_size/Parameters.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The module whose functions are decided already.
thread_local const Module *Decided = nullptr;

/// Whether code is generated in this process, by one thread, and behind this.
bool generatesCode(ThinOrFullLTOPhase Phase) { return Phase == ThinOrFullLTOPhase::None && isClang(); }

/// A policy's conversation about a module of the host, and what its actions are taken with.
class Opened {
public:
  Opened(Module &M, ThinOrFullLTOPhase Phase) : M(M), Phase(Phase) {}

  /// Once the policy's own pipeline has been over the module, where that is in the place of the host's.
  void open(Expected<std::unique_ptr<ModelRunner>> Policy, bool InPlace) {
    Talk = host<FunctionConversation>(M, std::move(Policy), [&](ModelRunner &Runner) { return begin(Runner, InPlace); });
  }

  bool isOpen() const { return Talk != nullptr; }

  void decide() {
    setForGood(Without);
    Talk->decide();
    Actions->finish(M);
  }

  /// The choices that the conversation has, which ends.
  CodeWays ways(std::vector<Choices> Found) {
    Talk.reset();
    return {M, *Actions, std::move(Found), Without};
  }

  void takeSmallest(Comparison Compared) {
    if (auto Done = takeSmallestCode(M, Phase, std::move(Compared)); !Done)
      failCompilation(M, Done.error());
  }

  FunctionConversation &conversation() { return *Talk; }
  bool setsOptions() const { return !Without.empty(); }

private:
  Expected<std::unique_ptr<FunctionConversation>> begin(ModelRunner &Policy, bool InPlace) {
    auto Read = FunctionSizeParameters::read(Policy.spec());
    if (!Read)
      return Unexpected(Read.error());
    if (generatesCode(Phase) && Level::ofMost(M).MinSize)
      Without = std::move(Read->Without);
    if (InPlace || havePasses(Read->Actions)) {
      auto Made = PolicySet::measurerFor(M, measure::Setup::WhenMeasured);
      if (!Made)
        return Unexpected(Made.error());
      Target = std::move(*Made);
      Runner = std::make_unique<PassRunner>(Target->targetMachine());
    }
    if (auto Ran = InPlace ? runPipeline({{}, Read->Pipeline}) : Expected<void>(); !Ran)
      return invalidParameter(Policy.spec(), "pipeline: " + Ran.error().Message);
    Actions.emplace(std::move(Read->Actions), Runner.get());
    return std::make_unique<FunctionConversation>(M, *Actions, Policy, EpisodeRequest());
  }

  Expected<void> runPipeline(const Stage &S) {
    return Runner->parse(S).map([&](ModulePassManager Passes) { Runner->run(std::move(Passes), S, M); });
  }

  Module &M;
  ThinOrFullLTOPhase Phase;
  std::vector<OptionSetting> Without;
  std::unique_ptr<measure::Measurer> Target;
  std::unique_ptr<PassRunner> Runner;
  std::optional<FunctionActions> Actions;
  std::shared_ptr<FunctionConversation> Talk; // null where there is none
};

/// With an open conversation.
void decideAtEnd(const TaskRegistration &Task, Module &M, Opened &Own) {
  const PolicySet &Policies = PolicySet::ofCommandLine();
  if (!Policies.isGuarded())
    return Own.decide();
  const size_t Candidates = Policies.candidates();
  const CodeWays Ways = Own.ways(Candidates > 0 ? Own.conversation().first(Candidates) : Own.conversation().answers());
  if (!Ways.differ())
    return;
  Comparison Compared = Candidates > 0 ? Ways.ofCandidates(1) : Comparison(M);
  if (Candidates == 0)
    Compared.add(Task.name().str(), Ways.taking(0));
  else if (Own.setsOptions())
    Compared.add("no change", Ways.keeping());
  Compared.add("stock", [] {});
  Own.takeSmallest(std::move(Compared));
}

void decideInPlace(Expected<std::unique_ptr<ModelRunner>> Policy, Module &M, ThinOrFullLTOPhase Phase) {
  Opened Own(M, Phase);
  Own.open(std::move(Policy), /*InPlace=*/true);
  if (!Own.isOpen())
    return;
  Decided = &M;
  const size_t Candidates = PolicySet::ofCommandLine().candidates();
  if (Candidates <= 1 || isProbe())
    return Own.decide();
  const CodeWays Ways = Own.ways(Own.conversation().best(Candidates));
  Comparison Compared = Ways.ofCandidates(2);
  Compared.add("candidate 1", Ways.keeping());
  Compared.askWithSmallest();
  Own.takeSmallest(std::move(Compared));
}

} // namespace

void decideAtPipelineEnd(const TaskRegistration &Task, PassBuilder &Builder) {
  runAtPipelineEnd(Builder, [&Task](Module &M, const HostPipeline &Host) {
    const bool IsDecided = std::exchange(Decided, nullptr) == &M;
    // What the guard tries of the pipeline is without it.
    if (*Host.At.Built == OptimizationLevel::O0 || isProbe() || IsDecided)
      return false;
    auto Policy = PolicySet::ofCommandLine().deciderInHost(Task, M);
    if (Policy && *Policy && !mayDecide<FunctionSizeParameters>(**Policy, Host.Phase))
      return false;
    Opened Own(M, Host.Phase);
    Own.open(std::move(Policy), /*InPlace=*/false);
    const bool Decides = Own.isOpen();
    if (Decides)
      decideAtEnd(Task, M, Own);
    return Decides;
  });
}

void decideInPlaceOfOptimizations(const TaskRegistration &Task, PassBuilder &Builder) {
  struct Begun {
    Expected<std::unique_ptr<ModelRunner>> Policy;
    ThinOrFullLTOPhase Phase;
  };
  auto Now = std::make_shared<std::optional<Begun>>();
  auto Begins = [&Task, Now](Module &M, const HostPipeline &Host) {
    Now->emplace(Begun{PolicySet::ofCommandLine().deciderInHost(Task, M), Host.Phase});
    return !(*Now)->Policy || (*(*Now)->Policy && mayDecide<FunctionSizeParameters>(**(*Now)->Policy, Host.Phase));
  };
  auto Optimize = [Now](Module &M) {
    decideInPlace(std::move((*Now)->Policy), M, (*Now)->Phase);
    Now->reset();
  };
  takeOverPipelines(Builder, {Begins, Optimize});
}

} // namespace mlcb
