// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What policies did, as optimization remarks.
#pragma once

#include "llvm/ADT/Twine.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace mlcb {

/// Emits an optimization remark of "mlcb" (`clang -Rpass=mlcb`, `opt -pass-remarks=mlcb`) about a module, at its first function.
void remark(llvm::StringRef Kind, const llvm::Twine &Message, const llvm::Module &M);

/// The same about one function.
void remark(llvm::StringRef Kind, const llvm::Twine &Message, const llvm::Function &F);

} // namespace mlcb
