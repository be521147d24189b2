// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A conversation inside a compiler that runs its own pipeline.
#pragma once

#include "runner/ModelRunner.h"
#include "llvm/deploy/Compilation.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlcb {

/// A policy and its conversation about a module of the host, which ends with this: its learner gets EpisodeEnd, and the compilation fails
/// where the conversation has.
template <class ConversationT> class Hosted {
public:
  Hosted(llvm::Module &M, std::unique_ptr<ModelRunner> Policy, std::unique_ptr<ConversationT> Talk)
      : M(M), Policy(std::move(Policy)), Talk(std::move(Talk)) {}

  ~Hosted() {
    if (auto Ended = Talk->finish(); !Ended)
      failCompilation(M, Ended.error());
  }
  Hosted(const Hosted &) = delete;
  Hosted &operator=(const Hosted &) = delete;

  ConversationT &conversation() { return *Talk; }

private:
  llvm::Module &M;
  std::unique_ptr<ModelRunner> Policy;
  std::unique_ptr<ConversationT> Talk;
};

/// The conversation of a policy with its host, until its last owner goes. Null where there is no policy, or where it could not be opened,
/// which fails the compilation.
template <class ConversationT>
std::shared_ptr<ConversationT> host(llvm::Module &M, Expected<std::unique_ptr<ModelRunner>> Policy,
                                    llvm::function_ref<Expected<std::unique_ptr<ConversationT>>(ModelRunner &)> Open) {
  if (Policy && !*Policy)
    return nullptr;
  Expected<std::unique_ptr<ConversationT>> Talk = Policy ? Open(**Policy) : Unexpected(Policy.error());
  if (!Talk) {
    failCompilation(M, Talk.error());
    return nullptr;
  }
  auto Kept = std::make_shared<Hosted<ConversationT>>(M, std::move(*Policy), std::move(*Talk));
  return {Kept, &Kept->conversation()};
}

} // namespace mlcb
