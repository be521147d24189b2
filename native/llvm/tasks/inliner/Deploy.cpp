// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/ModuleGuard.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/tasks/inliner/Advisor.h"
#include "llvm/tasks/inliner/Episode.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The conversation with the policy of the command line; null where there is none.
std::shared_ptr<InlineConversation> openInHost(const TaskRegistration &Task, Module &M) {
  return host<InlineConversation>(M, PolicySet::ofCommandLine().deciderInHost(Task), [&](ModelRunner &Policy) {
    return InlinerParameters::read(Policy.spec()).map([&](InlinerParameters Parameters) {
      return std::make_unique<InlineConversation>(M, std::move(Parameters), Policy, EpisodeRequest());
    });
  });
}

/// Whether the policy makes the smaller object of a module, in this pipeline.
Expected<bool> isSmaller(const TaskRegistration &Task, StringRef Pipeline, Module &M) {
  PolicySet &Policies = PolicySet::ofCommandLine();
  Expected<std::unique_ptr<ModelRunner>> Policy = Policies.decider(Task);
  if (!Policy)
    return Unexpected(Policy.error());
  if (!*Policy)
    return false;
  if (auto Allowed = Policies.checkGuard(**Policy); !Allowed)
    return Unexpected(Allowed.error());
  Expected<InlinerParameters> Parameters = InlinerParameters::read((*Policy)->spec());
  if (!Parameters)
    return Unexpected(Parameters.error());
  auto Target = Policies.measurerFor(M);
  if (!Target)
    return Unexpected(Target.error());
  Parameters->Pipeline = Pipeline;
  auto RunPolicy = [&] { return Inliner(std::move(*Parameters), **Target).run(M, **Policy, {}).map([](EndReason) {}); };
  const Verdict V = compare(M, **Target, RunPolicy, Pipeline);
  remark(V, Pipeline, M);
  return V.isForPolicy();
}

} // namespace

void adviseHostInliner(const TaskRegistration &Task, PassBuilder &Builder) {
  auto AsksPolicy = std::make_shared<bool>(true);
  Builder.registerAnalysisRegistrationCallback([&Task, AsksPolicy](ModuleAnalysisManager &Modules) {
    adviseHost(Modules, [&Task, AsksPolicy](Module &M) { return *AsksPolicy ? openInHost(Task, M) : nullptr; });
  });
  if (!PolicySet::ofCommandLine().isGuarded())
    return;
  runAtPipelineStart(Builder, [&Task, AsksPolicy](Module &M, const HostPipeline &Host) {
    const Expected<bool> Smaller = isSmaller(Task, Host.text(), M);
    *AsksPolicy = Smaller && *Smaller;
    if (!Smaller)
      failCompilation(M, Smaller.error());
    return false;
  });
}

} // namespace mlcb
