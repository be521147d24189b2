// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks in which a live range would best have a register that is taken elsewhere.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

namespace mlcb::rl4real {

/// Whether nothing has or clobbers a register from before an instruction until after another one of the same block.
bool isFree(const Analyses &A, llvm::MCPhysReg Register, llvm::SlotIndex First, llvm::SlotIndex Last, const llvm::MachineBasicBlock &Block);

/// The blocks that a live range is live in, in order; none where these are too many.
llvm::SmallVector<llvm::MachineBasicBlock *, 16> liveBlocks(const Analyses &A, const llvm::LiveInterval &Range);

/// For each register, those of the live blocks where it is free and the live range spares most by having it, in memory elsewhere. Each set is given
/// once.
llvm::SmallVector<llvm::SmallVector<llvm::MachineBasicBlock *, 16>, 4> fittingBlocks(const Analyses &A, const llvm::LiveInterval &Range,
                                                                                     llvm::ArrayRef<llvm::MachineBasicBlock *> Live);

} // namespace mlcb::rl4real
