// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last chance of a live range that cannot be spilled.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

namespace mlcb::rl4real {

/// Gives a live range a register by moving those in its way, and those in theirs; what can be spilled is evicted. Undone where it fails.
class Recolouring {
public:
  Recolouring(const Analyses &A, llvm::SmallVectorImpl<llvm::Register> &Evicted) : A(A), Evicted(Evicted) {}

  bool place(const llvm::LiveInterval &Range, unsigned Depth = 5);

  /// The live ranges whose register is another one now.
  auto moved() const {
    return llvm::map_range(Changes, [](const Change &Each) { return Each.Range->reg(); });
  }

private:
  struct Change {
    const llvm::LiveInterval *Range;
    llvm::MCRegister Before;
  };

  bool placeFree(const llvm::LiveInterval &Range);
  bool placeAt(const llvm::LiveInterval &Range, llvm::MCRegister Register, unsigned Depth);
  bool moveAway(const llvm::LiveInterval &Range, unsigned Depth);
  void change(const llvm::LiveInterval &Range, llvm::MCRegister Register);
  void undo(size_t Changes, size_t Evictions);

  const Analyses &A;
  llvm::SmallVectorImpl<llvm::Register> &Evicted;
  llvm::SmallVector<Change, 16> Changes;
  llvm::SmallVector<const llvm::LiveInterval *, 8> Placed;
  unsigned Tries = 10000; // left, for there are as many ways as permutations
};

} // namespace mlcb::rl4real
