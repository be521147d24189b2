// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What callee-saved registers cost: their saves and restores run as often as the block that dominates all that needs a frame (LLVM's shrink wrapping).
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

#include <vector>

namespace mlcb::rl4real {

class CalleeSaves {
public:
  explicit CalleeSaves(const Analyses &A);
  bool isCalleeSaved(llvm::MCRegister Register) const { return A.Classes.getLastCalleeSavedAlias(Register).isValid(); }

  /// What a callee-saved register costs in some blocks, with what it adds to the cost of those in use.
  struct Price {
    double First, More; // not used before; used already
  };
  Price in(llvm::ArrayRef<llvm::MachineBasicBlock *> Blocks) const;

  /// What a register costs at a price of callee-saved ones.
  double of(llvm::MCPhysReg Register, Price Saved) const;

  /// The block that dominates all that needs a frame; null where nothing does.
  llvm::MachineBasicBlock *saveBlock() const { return Save; }
  void setSaveBlock(llvm::MachineBasicBlock *Block) { Save = Block; }

  /// A live range has a register from now on.
  void use(llvm::MCRegister Register, const llvm::LiveInterval &Range) {
    if (isCalleeSaved(Register))
      needFrame(A.blocks(Range.reg()));
  }

private:
  /// Some blocks use a callee-saved register, or the stack, from now on.
  void needFrame(llvm::ArrayRef<llvm::MachineBasicBlock *> Blocks) { Save = around(Blocks); }

  bool isUsed(llvm::MCRegister Register) const { return A.Matrix.isPhysRegUsed(Register) || A.MRI.isPhysRegModified(Register); }
  unsigned used() const;
  llvm::MachineBasicBlock *around(llvm::ArrayRef<llvm::MachineBasicBlock *> Blocks) const;

  /// Saves leave loops, and are never more frequent than the function.
  double times(const llvm::MachineBasicBlock *Block) const { return Block ? Times[Block->getNumber()] : 0; }

  const Analyses &A;
  std::vector<double> Times; // of each block's saves: the least of those that dominate it
  llvm::MachineBasicBlock *Save = nullptr;
};

} // namespace mlcb::rl4real
