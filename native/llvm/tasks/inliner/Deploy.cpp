// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/LinkTime.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/tasks/inliner/Advisor.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The conversation with the policy of the command line; null where there is none.
std::shared_ptr<InlineConversation> openInHost(const TaskRegistration &Task, Module &M, ThinOrFullLTOPhase Phase) {
  Expected<std::unique_ptr<ModelRunner>> Found = PolicySet::ofCommandLine().deciderInHost(Task, M);
  if (Found && *Found && !mayDecide<InlinerParameters>(**Found, Phase))
    return nullptr;
  return host<InlineConversation>(M, std::move(Found), [&](ModelRunner &Policy) {
    return InlinerParameters::read(Policy.spec()).map([&](InlinerParameters Parameters) {
      return std::make_unique<InlineConversation>(M, std::move(Parameters), Policy, EpisodeRequest());
    });
  });
}

} // namespace

void adviseHostInliner(const TaskRegistration &Task, PassBuilder &Builder) {
  auto Phase = std::make_shared<ThinOrFullLTOPhase>(ThinOrFullLTOPhase::None); // of the pipeline at work
  runAtPipelineStart(Builder, [Phase](Module &, const HostPipeline &Host) {
    *Phase = Host.Phase;
    return false;
  });
  Builder.registerAnalysisRegistrationCallback(
      [&Task, Phase](ModuleAnalysisManager &Modules) { adviseHost(Modules, [&Task, Phase](Module &M) { return openInHost(Task, M, *Phase); }); });
}

} // namespace mlcb
