// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Some functions of a module, alone in a module of their own, such that their code is the same there.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <memory>

namespace llvm {
class Function;
class GlobalValue;
class Module;
} // namespace llvm

namespace mlcb::measure {

/// Jumps to a function of the same object that the assembler can settle: of those, and only of those, the distance matters.
bool assemblerSeesThrough(const llvm::Function &F);

struct Extract {
  std::unique_ptr<llvm::Module> Part;
  llvm::DenseMap<const llvm::Function *, const llvm::Function *> Originals;
  llvm::StringMap<const llvm::Function *> Symbols; // originals of the functions that assemblerSeesThrough, by their name in the part
};

enum class Jumps {
  Long,   // of every function to another
  AsFound // as in the whole module, for functions that lie together there
};

/// Keeps the functions, and the contents of those constants (they are not emitted); all else is declared.
Extract extract(const llvm::Module &M, const llvm::DenseSet<const llvm::GlobalValue *> &Keep, Jumps Between);

} // namespace mlcb::measure
