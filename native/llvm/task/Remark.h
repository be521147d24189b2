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

/// An action that was taken: its index in the policy's list, and how its text begins, for that of a pipeline has 1000 characters.
template <class IRUnit> void remarkAction(size_t Index, llvm::StringRef Text, const IRUnit &Changed) {
  constexpr size_t Shown = 100;
  remark("Action", "action " + llvm::Twine(Index) + ": " + Text.take_front(Shown) + (Text.size() > Shown ? "..." : ""), Changed);
}

} // namespace mlcb
