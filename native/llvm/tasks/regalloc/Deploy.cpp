// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/tasks/regalloc/Guard.h"

using namespace llvm;

namespace mlcb {

static std::shared_ptr<RegallocConversation> openInHost(StringRef Task, Module &M) {
  const PolicySet &Policies = PolicySet::ofCommandLine();
  auto Open = [&](ModelRunner &Policy) {
    return Policies.checkGuard(Policy).map([&] { return std::make_unique<RegallocConversation>(M, Policy, EpisodeRequest()); });
  };
  return host<RegallocConversation>(M, PolicySet::ofCommandLine().deciderInHost(*TaskRegistration::find(Task)), Open);
}

/// A learner of the other task would be asked in a fork.
static bool canAllBeTried(StringRef Task, Module &M) {
  for (StringRef Other : {"eviction", "priority"})
    if (Other != Task)
      openInHost(Other, M);
  return !hasFailed(M);
}

std::shared_ptr<RegallocConversation> regallocOfCommandLine(StringRef Task, Module &M, TargetMachine &Machine) {
  const PolicySet &Policies = PolicySet::ofCommandLine();
  if (Policies.isEmpty() || hasFailed(M))
    return nullptr;
  auto Talk = openInHost(Task, M);
  if (Talk && Policies.isGuarded() && canAllBeTried(Task, M))
    Talk->limitTo(betterFunctions(M, Machine, openInHost));
  return Talk;
}

} // namespace mlcb
