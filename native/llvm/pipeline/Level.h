// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimization levels: a pipeline, and the attributes of the functions that it is for.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
class OptimizationLevel;
} // namespace llvm

namespace mlcb {

/// A level of clang. LLVM 22 has a pipeline of its own for each; LLVM 23 tells -O2, -Os and -Oz apart by the functions' attributes alone.
struct Level {
  llvm::StringRef Pipeline; // as opt -passes= reads it
  const llvm::OptimizationLevel *Built;
  bool OptSize = false, MinSize = false;

  /// Gives the functions of a module the attributes of the level, and no others of those.
  void setAttributes(llvm::Module &M) const;

  /// The level of a pipeline that is being built; -Oz for one that is none.
  static const Level &of(const llvm::OptimizationLevel &Built);

  /// The level of most functions that have a body, as far as their attributes tell: -Oz, -Os, or -O2 for all others.
  static const Level &ofMost(const llvm::Module &M);

  /// The level with a name, as Oz; null where there is none.
  static const Level *named(llvm::StringRef Name);

  static const Level &O2, &O3, &Os, &Oz;
};

} // namespace mlcb
