// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other registers for live ranges, once all have one.
#pragma once

#include "llvm/tasks/regalloc/rl4real/CalleeSaves.h"

#include "llvm/ADT/DenseSet.h"

namespace mlcb::rl4real {

class Moves {
public:
  /// Given are live ranges that stay where they are.
  Moves(const Analyses &A, CalleeSaves &Saves, const llvm::DenseSet<llvm::Register> &Given) : A(A), Saves(Saves), Given(Given) {}

  /// Moves live ranges to the registers that they are copied from or to, and those in their way to others, where this costs less in all.
  void spareCopies();

private:
  bool canMove(llvm::Register R) const;
  bool improve(const llvm::LiveInterval &Range);
  bool move(const llvm::LiveInterval &Range, llvm::MCRegister To);
  double assignCheapest(const llvm::LiveInterval &Range);
  void assign(const llvm::LiveInterval &Range, llvm::MCRegister Register);
  auto costs(const llvm::LiveInterval &Range) const;

  const Analyses &A;
  CalleeSaves &Saves;
  const llvm::DenseSet<llvm::Register> &Given;
};

} // namespace mlcb::rl4real
