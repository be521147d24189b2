// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/AdviseAllocator.h"

#include "llvm/passes/AllocationQuestions.h"
#include "llvm/passes/Deployment.h"

using namespace llvm;

namespace mlcb {

namespace {

/// A policy at work in the host's allocator, from the beginning of code generation to its end.
class HostAllocation {
public:
  HostAllocation(Module &M, std::unique_ptr<ModelRunner> Policy) : M(M), Policy(std::move(Policy)), Questions(*this->Policy, {}) {}

  ~HostAllocation() {
    Expected<void> Done = Questions.failure() ? Unexpected(*Questions.failure())
                                              : Policy->end(Questions.asked() ? EndReason::Exhausted : EndReason::NoDecisions);
    if (!Done && !isRefused(M))
      refuse(M, Done.error());
  }

  AllocationQuestions &questions() { return Questions; }

private:
  Module &M;
  std::unique_ptr<ModelRunner> Policy;
  AllocationQuestions Questions;
};

Expected<std::shared_ptr<HostAllocation>> openHost(const TaskRegistration &Task, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Policy = unguardedInHost(Task);
  if (!Policy)
    return Unexpected(Policy.error());
  if (!*Policy)
    return nullptr;
  return std::make_shared<HostAllocation>(M, std::move(*Policy));
}

} // namespace

std::shared_ptr<AllocationQuestions> allocationOfCommandLine(StringRef Task, Module &M) {
  if (!hasRunners() || isRefused(M))
    return nullptr;
  return questionsOf(openHost(*TaskRegistration::find(Task), M), M);
}

} // namespace mlcb
