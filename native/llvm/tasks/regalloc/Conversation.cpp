// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Conversation.h"

namespace mlcb {

template <class T> std::optional<T> RegallocConversation::answer(size_t Agent) {
  if (failure())
    return std::nullopt;
  if (Replayed) {
    const std::optional<double> Known = nextReplayed();
    return Known ? std::optional(static_cast<T>(*Known)) : std::nullopt;
  }
  const Expected<T> Advice = ask<T>(Agent);
  if (!Advice)
    return std::nullopt;
  Answers.push_back(static_cast<double>(*Advice));
  return *Advice;
}

template std::optional<int64_t> RegallocConversation::answer(size_t);
template std::optional<double> RegallocConversation::answer(size_t);

std::optional<double> RegallocConversation::nextReplayed() {
  if (*Replayed < Answers.size())
    return Answers[(*Replayed)++];
  abandon({ErrorKind::InvalidArgument, "code generation asks more the second time"});
  return std::nullopt;
}

std::optional<Error> RegallocConversation::divergence() const {
  if (!failure() && Replayed != Answers.size())
    return Error{ErrorKind::InvalidArgument, "code generation asks less the second time"};
  return failure();
}

} // namespace mlcb
