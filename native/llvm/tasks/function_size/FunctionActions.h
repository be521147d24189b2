// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What may be done to a function: changes of its attributes, and passes over it.
#pragma once

#include "llvm/pipeline/PreparedActions.h"
#include "llvm/tasks/function_size/AttributeChange.h"

namespace mlcb {

struct FunctionAction {
  std::string Text;
  AttributeChange Attributes;
  std::vector<Stage> Stages; // run with these attributes

  /// Reads "keep", changes of attributes, pipelines of a function's passes, or "CHANGES ; PIPELINE", each with options as other actions have them.
  /// Whether LLVM has the passes is not looked at.
  static Expected<FunctionAction> parse(llvm::StringRef Text);

  bool isKeep() const { return Attributes.isKeep() && Stages.empty(); }
};

/// Whether passes may run over a function: it is defined here, and nothing asks to leave it as it is.
bool takesPasses(const llvm::Function &F);

/// The actions of a policy, and the means to take them.
class FunctionActions : public PreparedActions<FunctionAction, llvm::FunctionPassManager> {
public:
  using PreparedActions::PreparedActions;

  bool havePasses() const;

  /// Changes the attributes of a function as an action says, and runs its passes over it.
  Expected<void> take(size_t Index, llvm::Function &F);

  /// Where all functions are done, removes the globals that passes have left without a use.
  void finish(llvm::Module &M);
};

/// Whether any of them has passes.
bool havePasses(llvm::ArrayRef<FunctionAction> Actions);

} // namespace mlcb
