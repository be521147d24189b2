// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions about the functions of one module.
#pragma once

#include "llvm/task/ActionMask.h"
#include "llvm/task/Conversation.h"
#include "llvm/tasks/function_size/FunctionActions.h"
#include "llvm/tasks/function_size/Observation.h"
#include "llvm/tasks/function_size/TailCalls.h"

#include <optional>

namespace mlcb {

/// A function, and some of the actions that it may take.
struct Choices {
  llvm::Function *F;
  size_t Kept; // that is taken where none of the others is better
  llvm::SmallVector<size_t, 4> Others;
};

/// Asks about every function that has a choice; all others take the first action, and after a failure every one. The actions outlive it.
class FunctionConversation final : public Conversation {
public:
  FunctionConversation(llvm::Module &M, FunctionActions &Actions, ModelRunner &Policy, const EpisodeRequest &Request, Measurement Measure = nullptr);

  /// Does to each function what the policy says.
  void decide();

  /// Changes nothing: of each function that has a choice the first action, and beside it the policy's.
  std::vector<Choices> answers();

  /// Changes nothing, and asks nobody: of each function that has a choice the first action, and beside it the next ones, at most so many.
  std::vector<Choices> first(size_t AtMost);

  /// Changes nothing: of each function that passes may run over the policy's action, and beside it those that it prefers next, at most so many in
  /// all.
  std::vector<Choices> best(size_t AtMost);

private:
  /// The actions of a function; nothing where it has no choice.
  std::optional<ActionMask> choices(const llvm::Function &F);
  bool allows(const FunctionAction &Action, const llvm::Function &F);
  Expected<size_t> ask(llvm::Function &F, const ActionMask &Mask);

  FunctionActions &Actions;
  std::vector<int64_t> Forbidden;
  TailChains Chains;
  ModuleTotals Totals;
};

} // namespace mlcb
