// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The best that can be done without splits, for functions that are small enough.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Decider.h"
#include "llvm/tasks/regalloc/rl4real/LiveRangeFacts.h"

#include "llvm/ADT/DenseMap.h"

namespace mlcb::rl4real {

/// Gives each live range of a function the register, or memory, that costs least for all together: what is spilled, copied and saved, as the
/// heuristic counts it. That is a model: what a spill leaves gets its register by the heuristic, and may evict others.
class Optimum final : public Decider {
public:
  /// Searches all ways by branch and bound; null where there are too many, or the target has tuples of registers.
  static std::unique_ptr<Optimum> find(const Analyses &A, FactsOfFunction &Facts);

  /// Registers first: what a spill leaves takes one of the others.
  size_t next(llvm::ArrayRef<const llvm::LiveInterval *> Waiting) override;
  Fate fate(const llvm::LiveInterval &Range, const Choices &Legal) override;
  size_t colour(const llvm::LiveInterval &Range, llvm::ArrayRef<Candidate> Legal) override;
  bool splits() const override { return false; }

private:
  using Plan = llvm::DenseMap<llvm::Register, llvm::MCRegister>; // of those in memory none

  explicit Optimum(Plan Found) : Planned(std::move(Found)) {}

  Plan Planned;
};

} // namespace mlcb::rl4real
