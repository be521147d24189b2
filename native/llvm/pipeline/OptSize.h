// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that were compiled for size, optimized for speed.
#pragma once

#include "llvm/IR/Module.h"

namespace mlcb {

/// Removes what -Os and -Oz tell functions.
inline void optimizeForSpeed(llvm::Module &M) {
  for (llvm::Function &F : M) {
    F.removeFnAttr(llvm::Attribute::MinSize);
    F.removeFnAttr(llvm::Attribute::OptimizeForSize);
  }
}

} // namespace mlcb
