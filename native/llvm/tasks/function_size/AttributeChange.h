// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Actions of function_size: changes of a function's attributes that leave it right.
#pragma once

#include "spec/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Attributes.h"

#include <string>

namespace llvm {
class Function;
} // namespace llvm

namespace mlcb {

/// Attributes to add and to remove.
struct AttributeChange {
  std::string Text;
  bool KeepsFramePointer = false, EndsTailCalls = false; // frame-pointer=all, disable-tail-calls=true
  llvm::SmallVector<std::pair<std::string, std::string>> Added;
  llvm::SmallVector<llvm::Attribute::AttrKind> Removed;

  /// Reads "keep", or changes with spaces between: "+NAME=VALUE" adds an attribute, "-NAME" removes one. Only those that change code and not
  /// what it does.
  static Expected<AttributeChange> parse(llvm::StringRef Text);

  bool isKeep() const { return Added.empty() && Removed.empty(); }

  /// Whether the function is another one with it.
  bool changes(const llvm::Function &F) const;

  void apply(llvm::Function &F) const;
};

/// Assembly may name the frame pointer's register, or need every other one.
bool hasInlineAssembly(const llvm::Function &F);

} // namespace mlcb
