// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What callee-saved registers cost: their saves and restores run as often as the block that dominates all that needs a frame (LLVM's shrink wrapping).
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

namespace mlcb::rl4real {

class CalleeSaves {
public:
  explicit CalleeSaves(const Analyses &A);

  /// What a callee-saved register costs in some blocks, with what it adds to the cost of those in use.
  struct Price {
    double First, More; // not used before; used already
  };
  Price in(llvm::ArrayRef<llvm::MachineBasicBlock *> Blocks) const;

  /// What a register costs at a price of callee-saved ones.
  double of(llvm::MCPhysReg Register, Price Saved) const;

  /// Takes a register into use.
  void use(llvm::MCRegister Register, llvm::ArrayRef<llvm::MachineBasicBlock *> Blocks);

private:
  bool isUsed(llvm::MCRegister Register) const { return A.Matrix.isPhysRegUsed(Register) || A.MRI.isPhysRegModified(Register); }
  llvm::MachineBasicBlock *around(llvm::ArrayRef<llvm::MachineBasicBlock *> Blocks) const;
  double times(llvm::MachineBasicBlock *Save) const;

  const Analyses &A;
  llvm::MachineBasicBlock *Save = nullptr; // dominates all that needs a frame; null where nothing does
  unsigned Used = 0;
};

} // namespace mlcb::rl4real
