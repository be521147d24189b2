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
  return host<RegallocConversation>(M, PolicySet::ofCommandLine().deciderInHost(*TaskRegistration::find(Task), M), Open);
}

/// A learner of the other task would be asked in a fork.
static bool canAllBeTried(StringRef Task, Module &M) {
  for (StringRef Other : {"eviction", "priority"})
    if (Other != Task)
      openInHost(Other, M);
  return !hasFailed(M);
}

/// Found once for both tasks: the conversation of the first still holds it when the second begins.
static std::shared_ptr<const StringSet<>> betterOfBoth(Module &M, TargetMachine &Machine) {
  static thread_local std::pair<const Module *, std::weak_ptr<const StringSet<>>> Last;
  auto Found = Last.second.lock();
  if (!Found || Last.first != &M) {
    Found = std::make_shared<const StringSet<>>(betterFunctions(M, Machine, openInHost));
    Last = {&M, Found};
  }
  return Found;
}

std::shared_ptr<RegallocConversation> regallocOfCommandLine(StringRef Task, Module &M, TargetMachine &Machine) {
  const PolicySet &Policies = PolicySet::ofCommandLine();
  if (Policies.isEmpty() || hasFailed(M))
    return nullptr;
  auto Talk = openInHost(Task, M);
  if (Talk && Policies.isGuarded() && canAllBeTried(Task, M))
    Talk->limitTo(betterOfBoth(M, Machine));
  return Talk;
}

} // namespace mlcb
