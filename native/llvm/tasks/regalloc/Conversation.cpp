// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Conversation.h"

#include "llvm/tasks/regalloc/Deploy.h"

#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/Target/TargetMachine.h"

namespace mlcb {

static thread_local OpenRegalloc Innermost;

template <class T> std::optional<T> RegallocConversation::ask() {
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

template std::optional<int64_t> RegallocConversation::ask();
template std::optional<double> RegallocConversation::ask();

std::optional<Error> RegallocConversation::divergence() const {
  if (!Failure && Replayed != Answers.size())
    return Error{ErrorKind::SystemError, "code generation asks less the second time"};
  return Failure;
}

void RegallocConversation::fail(Error Why) {
  if (!Failure)
    Failure = std::move(Why);
}

RegallocScope::RegallocScope(OpenRegalloc Open) : Outer(std::exchange(Innermost, std::move(Open))) {}
RegallocScope::~RegallocScope() { Innermost = std::move(Outer); }

std::shared_ptr<RegallocConversation> openRegalloc(llvm::StringRef Task, llvm::Module &M, const llvm::Pass &Asking) {
  if (Innermost)
    return Innermost(Task, M);
  return allocationOfCommandLine(Task, M, Asking.getAnalysisIfAvailable<llvm::TargetPassConfig>()->getTM<llvm::TargetMachine>());
}

} // namespace mlcb
