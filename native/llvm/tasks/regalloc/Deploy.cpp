// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Deploy.h"

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/tasks/regalloc/Guard.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The functions of a module by who allocates them: the policies, or a fixed allocator.
struct Division {
  std::vector<StringSet<>> Functions;

  const StringSet<> &ofPolicies() const { return Functions[0]; }
  const StringSet<> &of(const FixedAllocator &By) const { return Functions[1 + (&By - fixedAllocators().begin())]; }
};

/// That of the module whose code is generated; its conversations hold it.
thread_local std::pair<const Module *, std::weak_ptr<const Division>> Last;

std::shared_ptr<const Division> divisionOf(const Module &M) { return Last.first == &M ? Last.second.lock() : nullptr; }

/// Those that are tried beside the policies.
ArrayRef<FixedAllocator> candidates() {
  const size_t Beside = std::max(PolicySet::ofCommandLine().candidates(), 1u) - 1;
  return fixedAllocators().take_front(std::min(Beside, fixedAllocators().size()));
}

std::shared_ptr<RegallocConversation> openPolicy(StringRef Task, Module &M) {
  const PolicySet &Policies = PolicySet::ofCommandLine();
  auto Open = [&](ModelRunner &Policy) {
    return Policies.checkGuard(Policy).map([&] { return std::make_unique<RegallocConversation>(M, Policy, EpisodeRequest()); });
  };
  return host<RegallocConversation>(M, PolicySet::ofCommandLine().deciderInHost(*TaskRegistration::find(Task), M), Open);
}

RegallocConversations openInHost(StringRef Task, Module &M) {
  RegallocConversations Opened;
  if (auto Talk = openPolicy(Task, M))
    Opened.Talks.push_back(std::move(Talk));
  return Opened;
}

/// Whether a policy decides about registers, and all of those can be tried: a learner would be asked in a fork.
bool canBeTried(Module &M) {
  const auto Tasks = PolicySet::ofCommandLine().decided(Guard::Function, M);
  if (!Tasks)
    failCompilation(M, Tasks.error());
  return Tasks && !Tasks->empty();
}

/// Found once for all tasks: the conversations of the first still hold it when the second begins. Null where nothing can be tried.
std::shared_ptr<const Division> divide(Module &M, TargetMachine &Machine) {
  auto Found = divisionOf(M);
  if (!Found && canBeTried(M)) {
    SmallVector<Alternative> Alternatives{{"policy", openInHost}};
    for (const FixedAllocator &By : candidates())
      Alternatives.push_back(Alternative::fixed(By));
    Found = std::make_shared<const Division>(Division{betterFunctions(M, Machine, Alternatives)});
    Last = {&M, Found};
  }
  return Found;
}

} // namespace

RegallocConversations regallocOfCommandLine(StringRef Task, Module &M, TargetMachine &Machine) {
  const PolicySet &Policies = PolicySet::ofCommandLine();
  if (Policies.isEmpty() || hasFailed(M))
    return {};
  RegallocConversations Opened = openInHost(Task, M);
  const auto Found = Policies.isGuarded() ? divide(M, Machine) : nullptr;
  if (!Found)
    return Opened;
  for (const auto &Talk : Opened.Talks)
    Talk->limitTo({Found, &Found->ofPolicies()});
  for (const FixedAllocator &By : candidates())
    for (auto &Talk : By.opener()(Task, M).Talks) {
      Talk->limitTo({Found, &Found->of(By)});
      Opened.Talks.push_back(std::move(Talk));
    }
  Opened.Kept = Found;
  return Opened;
}

unsigned firstUseOfCommandLine(const Function &F) {
  if (const auto Found = divisionOf(*F.getParent()))
    for (const FixedAllocator &By : candidates())
      if (Found->of(By).contains(F.getName()))
        return By.FirstUse;
  return 0;
}

} // namespace mlcb
