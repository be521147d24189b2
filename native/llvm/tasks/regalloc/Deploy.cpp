// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/ModuleGuard.h"
#include "llvm/tasks/regalloc/Conversation.h"

using namespace llvm;

namespace mlcb {

namespace {

using HostAllocation = Hosted<RegallocConversation>;

Expected<std::shared_ptr<HostAllocation>> openHost(StringRef Task, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Policy = deciderInHost(*TaskRegistration::find(Task));
  if (!Policy)
    return Unexpected(Policy.error());
  if (!*Policy)
    return nullptr;
  if (auto Allowed = mayBeGuarded(**Policy); !Allowed)
    return Unexpected(Allowed.error());
  return std::make_shared<HostAllocation>(M, std::move(*Policy), [](ModelRunner &Asked) { return RegallocConversation(Asked, {}); });
}

std::shared_ptr<RegallocConversation> unguarded(StringRef Task, Module &M) { return questionsOf(openHost(Task, M), M); }

/// A learner of the other task would be asked in a fork.
bool canAllBeTried(StringRef Task, Module &M) {
  for (StringRef Other : {"eviction", "priority"})
    if (Other != Task)
      unguarded(Other, M);
  return !isRefused(M);
}

} // namespace

std::shared_ptr<RegallocConversation> allocationOfCommandLine(StringRef Task, Module &M, TargetMachine &Machine) {
  if (!hasRunners() || isRefused(M))
    return nullptr;
  auto Questions = unguarded(Task, M);
  if (Questions && isGuarded() && canAllBeTried(Task, M))
    Questions->limitTo(cheaperFunctions(M, Machine, unguarded));
  return Questions;
}

} // namespace mlcb
