// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What it costs to have a live range in memory, or to compute it anew, as the metric counts.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

namespace mlcb::rl4real {

/// An instruction that reads or writes a live range.
struct Access {
  llvm::MachineInstr *MI;
  llvm::SlotIndex At;
  bool IsWrite;
  double Cost; // of all its runs, if the live range is in memory; negative where an instruction goes

  llvm::MachineBasicBlock *block() const { return MI->getParent(); }
};

/// All of a live range.
struct Accesses {
  llvm::SmallVector<Access, 8> All;
  double Enter, Leave; // cost of a copy from memory to a register, where the value may be computed anew, and of one back
};

Accesses accessesOf(const Analyses &A, const llvm::LiveInterval &Range);

/// What a live range costs that is in memory in the blocks of another one, and in a register elsewhere.
double costAround(const Analyses &A, const llvm::LiveInterval &Range, const llvm::LiveInterval &Other);

} // namespace mlcb::rl4real
