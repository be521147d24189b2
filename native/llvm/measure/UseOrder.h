// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of use lists: what the text of a module does not show, and code generation depends on (the predecessors of a block are one).
#pragma once

#include "llvm/Transforms/Utils/ValueMapper.h"

#include <memory>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace mlcb::measure {

/// A clone whose code is that of the original: CloneModule alone leaves use lists in the order that follows from the text, which is
/// not that of a module which passes have changed.
std::unique_ptr<llvm::Module> cloneExactly(const llvm::Module &M);

/// Gives the arguments, blocks and instructions of a function's copy the order of uses that the original's have.
void copyUseOrder(const llvm::Function &Original, llvm::ValueToValueMapTy &Map);

} // namespace mlcb::measure
