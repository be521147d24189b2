// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What it costs to have a live range in memory, or to compute it anew, as the metric counts.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

namespace mlcb::rl4real {

/// Of one instruction, each time that it runs.
struct AccessCosts {
  double Read;
  double Write; // negative where the write goes: the value is computed where it is read

  /// Of what an instruction reads and writes, so many times.
  double of(std::pair<bool, bool> ReadsWrites, double Times) const { return Times * (ReadsWrites.first * Read + ReadsWrites.second * Write); }
};

AccessCosts accessCosts(const Analyses &A, const llvm::LiveInterval &Range);

} // namespace mlcb::rl4real
