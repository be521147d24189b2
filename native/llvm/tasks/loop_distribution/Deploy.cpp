// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/loop_distribution/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/loops/LoopDistributionPass.h"
#include "llvm/tasks/loop_distribution/Parameters.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

using HostLoops = Hosted<LoopConversation>;

Expected<std::shared_ptr<HostLoops>> openHost(const TaskRegistration &Task, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Policy = unguardedInHost(Task);
  if (!Policy)
    return Unexpected(Policy.error());
  if (!*Policy)
    return nullptr;
  Expected<LoopDistributionParameters> Parameters = LoopDistributionParameters::read((*Policy)->spec());
  if (!Parameters)
    return Unexpected(Parameters.error());
  auto Make = [&](ModelRunner &Asked) { return LoopConversation(Parameters->Seeds, Asked); };
  return std::make_shared<HostLoops>(M, std::move(*Policy), Make);
}

/// Whoever is asked about the module at work.
struct Conversation {
  const TaskRegistration &Task;
  bool Opened = false;
  std::shared_ptr<LoopConversation> Questions;

  LoopConversation *questions(Module &M) {
    if (!Opened && !isRefused(M))
      Questions = questionsOf(openHost(Task, M), M);
    Opened = true;
    return Questions.get();
  }

  void end() {
    Questions.reset();
    Opened = false;
  }
};

/// Ends the conversation about a module.
class EndPass : public PassInfoMixin<EndPass> {
public:
  explicit EndPass(std::shared_ptr<Conversation> Talk) : Talk(std::move(Talk)) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &, ModuleAnalysisManager &) {
    Talk->end();
    return PreservedAnalyses::all();
  }

private:
  std::shared_ptr<Conversation> Talk;
};

} // namespace

void askBeforeVectorizer(PassBuilder &Builder, std::function<LoopConversation *(Function &F)> Open) {
  auto OpenAnswer = [Open = std::move(Open)](Function &F) -> LoopDistributionPass::Answer {
    LoopConversation *Questions = Open(F);
    if (!Questions)
      return nullptr;
    return [Questions](const loops::DependenceGraph &G, unsigned) { return Questions->answer(G); };
  };
  Builder.registerVectorizerStartEPCallback([OpenAnswer](FunctionPassManager &Passes, OptimizationLevel) {
    Passes.addPass(LoopDistributionPass(OpenAnswer));
  });
}

void splitHost(const TaskRegistration &Task, PassBuilder &Builder) {
  auto Talk = std::make_shared<Conversation>(Task);
  askBeforeVectorizer(Builder, [Talk](Function &F) { return Talk->questions(*F.getParent()); });
  Builder.registerOptimizerLastEPCallback(
      [Talk](ModulePassManager &Passes, OptimizationLevel, ThinOrFullLTOPhase) { Passes.addPass(EndPass(Talk)); });
}

} // namespace mlcb
