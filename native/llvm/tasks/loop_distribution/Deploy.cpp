// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/loop_distribution/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/loops/LoopDistributionPass.h"
#include "llvm/tasks/loop_distribution/Parameters.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The conversation with the policy of the command line about the module at work.
class HostConversation {
public:
  explicit HostConversation(const TaskRegistration &Task) : Task(Task) {}

  /// Opened when it is first asked for; null where there is no policy.
  LoopConversation *about(Module &M) {
    if (!Opened && !hasFailed(M))
      Talk = open(M);
    Opened = true;
    return Talk.get();
  }

  void end() {
    Talk.reset();
    Opened = false;
  }

private:
  std::shared_ptr<LoopConversation> open(Module &M) const {
    return host<LoopConversation>(M, PolicySet::ofCommandLine().deciderInHost(Task, M), [&](ModelRunner &Policy) {
      return LoopDistributionParameters::read(Policy.spec()).map([&](const LoopDistributionParameters &Parameters) {
        return std::make_unique<LoopConversation>(M, Parameters.Seeds, Policy, EpisodeRequest());
      });
    });
  }

  const TaskRegistration &Task;
  bool Opened = false;
  std::shared_ptr<LoopConversation> Talk;
};

} // namespace

void askBeforeVectorizer(PassBuilder &Builder, std::function<LoopConversation *(Function &F)> Open) {
  auto OpenAnswer = [Open = std::move(Open)](Function &F) -> LoopDistributionPass::Answer {
    LoopConversation *Talk = Open(F);
    if (!Talk)
      return nullptr;
    return [Talk](const loops::DependenceGraph &G, unsigned) { return Talk->answer(G); };
  };
  Builder.registerVectorizerStartEPCallback(
      [OpenAnswer](FunctionPassManager &Passes, OptimizationLevel) { Passes.addPass(LoopDistributionPass(OpenAnswer)); });
}

void distributeHostLoops(const TaskRegistration &Task, PassBuilder &Builder) {
  auto Talk = std::make_shared<HostConversation>(Task);
  askBeforeVectorizer(Builder, [Talk](Function &F) { return Talk->about(*F.getParent()); });
  runAtPipelineEnd(Builder, [Talk](Module &, const HostPipeline &) {
    Talk->end();
    return false;
  });
}

} // namespace mlcb
