// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/AdviseAllocator.h"

#include "llvm/passes/AllocationQuestions.h"
#include "llvm/passes/Hosted.h"

using namespace llvm;

namespace mlcb {

namespace {

using HostAllocation = Hosted<AllocationQuestions>;

Expected<std::shared_ptr<HostAllocation>> openHost(const TaskRegistration &Task, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Policy = unguardedInHost(Task);
  if (!Policy)
    return Unexpected(Policy.error());
  if (!*Policy)
    return nullptr;
  return std::make_shared<HostAllocation>(M, std::move(*Policy), [](ModelRunner &Asked) { return AllocationQuestions(Asked, {}); });
}

} // namespace

std::shared_ptr<AllocationQuestions> allocationOfCommandLine(StringRef Task, Module &M) {
  if (!hasRunners() || isRefused(M))
    return nullptr;
  return questionsOf(openHost(*TaskRegistration::find(Task), M), M);
}

} // namespace mlcb
