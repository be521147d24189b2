// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The blocks in which a live range would best have a register that is taken elsewhere.
#pragma once

#include "llvm/tasks/regalloc/rl4real/AccessCosts.h"

namespace mlcb::rl4real {

using Blocks = llvm::SmallVector<llvm::MachineBasicBlock *, 16>;

/// Whether nothing has or clobbers a register from one place of a block to another.
bool isFree(const Analyses &A, llvm::MCPhysReg Register, llvm::SlotIndex From, llvm::SlotIndex To, const llvm::MachineBasicBlock &Block);

/// The blocks that a live range is live in, in order; none where these are too many.
Blocks liveBlocks(const Analyses &A, const llvm::LiveInterval &Range);

/// For each register, those of the live blocks where it is free and the live range spares most by having it, in memory elsewhere. Each set is given
/// once.
llvm::SmallVector<Blocks, 4> fittingBlocks(const Analyses &A, const llvm::LiveInterval &Range, const Accesses &Uses, const Blocks &Live);

} // namespace mlcb::rl4real
