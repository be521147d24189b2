// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/AdviseAllocator.h"

#include "llvm/passes/AllocationQuestions.h"
#include "llvm/passes/Deployment.h"

#include "llvm/ADT/STLExtras.h"

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

/// A learner is not told here what the allocation came to.
Expected<void> wantsNoMetrics(const ModelRunner &Policy) {
  for (auto [Index, Metric] : enumerate(Policy.spec().Task.Metrics))
    if (Policy.wants(Index))
      return fail(ErrorKind::InvalidArgument,
                  "a learner wants the metric " + std::string(Metric.Name) + ": expected the worker, or opt, which measure");
  return {};
}

Expected<std::shared_ptr<HostAllocation>> openHost(const TaskRegistration &Task, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Policy = runnerFor(Task);
  if (!Policy)
    return Unexpected(Policy.error());
  if (!*Policy || !(*Policy)->decides())
    return nullptr;
  if (auto Silent = wantsNoMetrics(**Policy); !Silent)
    return Unexpected(Silent.error());
  return std::make_shared<HostAllocation>(M, std::move(*Policy));
}

} // namespace

std::shared_ptr<AllocationQuestions> allocationOfCommandLine(StringRef Task, Module &M) {
  if (!hasRunners() || isRefused(M))
    return nullptr;
  Expected<std::shared_ptr<HostAllocation>> Host = openHost(*TaskRegistration::find(Task), M);
  if (!Host)
    refuse(M, Host.error());
  if (!Host || !*Host)
    return nullptr;
  return std::shared_ptr<AllocationQuestions>(*Host, &(*Host)->questions());
}

} // namespace mlcb
