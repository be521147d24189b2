// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tail calls, and where the stack relies on them.
#pragma once

#include "llvm/ADT/DenseMap.h"

namespace llvm {
class CallInst;
class Function;
} // namespace llvm

namespace mlcb {

/// Whether code generation may make a jump of the call: nothing but a return follows.
bool isInTailPosition(const llvm::CallInst &Call);

/// Which functions may call where they jumped: no chain of tail calls that begins in one of them comes back to it, or leaves the module.
class TailChains {
public:
  bool end(const llvm::Function &F);

private:
  llvm::DenseMap<const llvm::Function *, bool> Ends; // false while it is being looked at
};

} // namespace mlcb
