// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What may be done to a function: changes of its attributes, and passes over it.
#pragma once

#include "llvm/pipeline/PassRunner.h"
#include "llvm/tasks/function_size/AttributeChange.h"

#include "llvm/ADT/SmallVector.h"

namespace mlcb {

struct FunctionAction {
  std::string Text;
  AttributeChange Attributes;
  std::vector<Stage> Passes; // run with these attributes

  /// Reads "keep", changes of attributes, pipelines of a function's passes, or "CHANGES ; PIPELINE", each with options as other actions have them.
  /// Whether LLVM has the passes is not looked at.
  static Expected<FunctionAction> parse(llvm::StringRef Text);

  bool isKeep() const { return Attributes.isKeep() && Passes.empty(); }
};

/// Whether passes may run over a function: it is defined here, and nothing asks to leave it as it is.
bool takesPasses(const llvm::Function &F);

/// The actions of a policy, and the means to take them.
class FunctionActions {
public:
  /// Runner may be null where no action has passes.
  FunctionActions(std::vector<FunctionAction> Actions, PassRunner *Runner) : Actions(std::move(Actions)), Runner(Runner) {}

  size_t size() const { return Actions.size(); }
  bool havePasses() const;
  const FunctionAction &operator[](size_t Index) const { return Actions[Index]; }

  /// Parses all passes: an error names the action that LLVM refuses.
  Expected<void> prepareAll();

  /// Changes the attributes of a function as an action says, and runs its passes over it.
  Expected<void> take(size_t Index, llvm::Function &F);

  /// Where all functions are done, removes the globals that passes have left without a use.
  void finish(llvm::Module &M);

private:
  using Parsed = std::vector<llvm::FunctionPassManager>;
  Expected<Parsed *> prepared(size_t Index, decltype(checkOptions) &Check);

  std::vector<FunctionAction> Actions;
  PassRunner *Runner;
  std::vector<std::optional<Parsed>> Passes; // by action, from its first use on
};

/// Whether any of them has passes.
bool havePasses(llvm::ArrayRef<FunctionAction> Actions);

/// Whether any of them sets options, which are one to all threads.
bool setOptions(llvm::ArrayRef<FunctionAction> Actions);

} // namespace mlcb
