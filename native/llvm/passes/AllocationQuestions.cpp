// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/AllocationQuestions.h"

#include "llvm/passes/AdviseAllocator.h"

#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/Target/TargetMachine.h"

namespace mlcb {

static thread_local OpenAllocation Innermost;

template <class T> std::optional<T> AllocationQuestions::ask() {
  if (Failure)
    return std::nullopt;
  if (Replayed) {
    if (*Replayed == Answers.size()) {
      fail({ErrorKind::SystemError, "code generation asks more the second time"});
      return std::nullopt;
    }
    return static_cast<T>(Answers[(*Replayed)++]);
  }
  Before();
  Expected<T> Answer = Policy.evaluate<T>();
  After();
  if (!Answer) {
    fail(Answer.error());
    return std::nullopt;
  }
  Answers.push_back(static_cast<double>(*Answer));
  return *Answer;
}

template std::optional<int64_t> AllocationQuestions::ask();
template std::optional<double> AllocationQuestions::ask();

std::optional<Error> AllocationQuestions::divergence() const {
  if (!Failure && Replayed != Answers.size())
    return Error{ErrorKind::SystemError, "code generation asks less the second time"};
  return Failure;
}

void AllocationQuestions::fail(Error Why) {
  if (!Failure)
    Failure = std::move(Why);
}

AllocationScope::AllocationScope(OpenAllocation Open) : Outer(std::exchange(Innermost, std::move(Open))) {}
AllocationScope::~AllocationScope() { Innermost = std::move(Outer); }

std::shared_ptr<AllocationQuestions> openAllocation(llvm::StringRef Task, llvm::Module &M, const llvm::Pass &Asking) {
  if (Innermost)
    return Innermost(Task, M);
  return allocationOfCommandLine(Task, M, Asking.getAnalysisIfAvailable<llvm::TargetPassConfig>()->getTM<llvm::TargetMachine>());
}

} // namespace mlcb
