// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live ranges of a function that cannot share a register.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlcb::rl4real {

/// Kept up while live ranges are split and spilled: those that are gone stay among the neighbours, and are passed over.
class InterferenceGraph {
public:
  explicit InterferenceGraph(const Analyses &A) : A(A) {}

  /// Adds live ranges, and edges between them and all others. One that is known stays as it is.
  void add(llvm::ArrayRef<const llvm::LiveInterval *> Ranges);

  using Neighbours = llvm::SmallVector<llvm::Register, 8>;

  /// Those that are still there.
  Neighbours neighbours(llvm::Register R) const;

private:
  struct Part {
    llvm::SlotIndex Start, End;
    llvm::Register R;
    bool IsNew;
  };
  using Parts = llvm::SmallVector<Part, 0>;

  Parts partsBeside(const llvm::DenseSet<llvm::Register> &New) const;
  bool isThere(llvm::Register R) const;
  bool mayShare(llvm::Register One, llvm::Register Other);

  const Analyses &A;
  llvm::DenseMap<llvm::Register, Neighbours> Edges;
  llvm::DenseMap<std::pair<const llvm::TargetRegisterClass *, const llvm::TargetRegisterClass *>, bool> Overlaps;
};

} // namespace mlcb::rl4real
