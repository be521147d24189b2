// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions about the functions of one module, which all passes have been over.
#pragma once

#include "llvm/task/ActionMask.h"
#include "llvm/task/Conversation.h"
#include "llvm/tasks/function_size/AttributeChange.h"
#include "llvm/tasks/function_size/Observation.h"
#include "llvm/tasks/function_size/TailCalls.h"

#include <optional>

namespace mlcb {

/// A function and some of the changes that it may take.
struct Choices {
  llvm::Function *F;
  llvm::SmallVector<AttributeChange, 4> Changes;
};

/// Asks about every function that is to be small and has a choice. After a failure the others stay as they are.
class FunctionConversation final : public Conversation {
public:
  FunctionConversation(llvm::Module &M, std::vector<AttributeChange> Actions, ModelRunner &Policy, const EpisodeRequest &Request,
                       Measurement Measure = nullptr);

  /// Changes each function as the policy says.
  void decide();

  /// Changes nothing: of each function the change that the policy says.
  std::vector<Choices> answers();

  /// Changes nothing, and asks nobody: of each function the first changes in the order of the actions, at most so many, without 'keep'.
  std::vector<Choices> first(size_t AtMost);

private:
  /// The actions of a function; nothing where it has no choice.
  std::optional<ActionMask> allowed(const llvm::Function &F);
  Expected<size_t> ask(llvm::Function &F, const ActionMask &Mask);

  std::vector<AttributeChange> Actions;
  std::vector<int64_t> Forbidden;
  TailChains Chains;
  ModuleTotals Totals;
};

} // namespace mlcb
