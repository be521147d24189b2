// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/tasks/inliner/Advisor.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The conversation with the policy of the command line; null where there is none.
std::shared_ptr<InlineConversation> openInHost(const TaskRegistration &Task, Module &M) {
  return host<InlineConversation>(M, PolicySet::ofCommandLine().deciderInHost(Task, M), [&](ModelRunner &Policy) {
    return InlinerParameters::read(Policy.spec()).map([&](InlinerParameters Parameters) {
      return std::make_unique<InlineConversation>(M, std::move(Parameters), Policy, EpisodeRequest());
    });
  });
}

} // namespace

void adviseHostInliner(const TaskRegistration &Task, PassBuilder &Builder) {
  Builder.registerAnalysisRegistrationCallback(
      [&Task](ModuleAnalysisManager &Modules) { adviseHost(Modules, [&Task](Module &M) { return openInHost(Task, M); }); });
}

} // namespace mlcb
