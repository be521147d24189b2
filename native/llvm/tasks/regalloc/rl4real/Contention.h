// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where live ranges compete for registers.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

#include "llvm/ADT/DenseMap.h"

namespace mlcb::rl4real {

/// What is contested before anything is allocated.
class Contention {
public:
  explicit Contention(const Analyses &A);

  /// The instructions that a live range lives through where more are live than there are registers; if it lives across a call, also those where more
  /// that do are live than there are callee-saved ones.
  unsigned of(const llvm::LiveInterval &Range) const;

private:
  /// By instruction: first how many live ranges begin less those that end, then how many instructions before it are contested.
  using Profile = std::vector<int>;

  /// Live ranges that may have the same registers.
  struct Bank {
    Profile All, Across; // of all, and of those that live across a call
    size_t Registers = 0, Saved = 0;
  };

  void add(const llvm::LiveInterval &Range);
  static void sumUp(Bank &Of);
  unsigned bankOf(llvm::Register R) const;
  size_t placeOf(llvm::SlotIndex At) const;

  const Analyses &A;
  llvm::DenseMap<unsigned, Bank> Banks;
};

} // namespace mlcb::rl4real
