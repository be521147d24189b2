// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LLVM knows of the function whose registers are allocated.
#pragma once

#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/CalcSpillWeights.h"
#include "llvm/CodeGen/LiveDebugVariables.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/LiveRegMatrix.h"
#include "llvm/CodeGen/LiveStacks.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/RegisterClassInfo.h"
#include "llvm/CodeGen/VirtRegMap.h"

namespace mlcb::rl4real {

struct Analyses {
  llvm::MachineFunction &MF;
  llvm::MachineRegisterInfo &MRI;
  llvm::LiveIntervals &LIS;
  llvm::LiveStacks &LSS;
  llvm::LiveDebugVariables &Debug;
  llvm::VirtRegMap &VRM;
  llvm::LiveRegMatrix &Matrix;
  llvm::MachineDominatorTree &Dominators;
  llvm::MachineLoopInfo &Loops;
  llvm::MachineBlockFrequencyInfo &Frequencies;
  llvm::VirtRegAuxInfo &Weights;
  llvm::RegisterClassInfo &Classes;

  /// How often a block runs for each entry of the function.
  double frequency(const llvm::MachineBasicBlock &Block) const { return Frequencies.getBlockFreqRelativeToEntryBlock(&Block); }

  llvm::ArrayRef<llvm::MCPhysReg> order(llvm::Register R) const { return Classes.getOrder(MRI.getRegClass(R)); }

  /// The instructions that read or write it, each once: LLVM's own list has one that does both twice.
  llvm::SmallSetVector<llvm::MachineInstr *, 8> instructions(llvm::Register R) const {
    llvm::SmallSetVector<llvm::MachineInstr *, 8> Found;
    for (llvm::MachineInstr &MI : MRI.reg_nodbg_instructions(R))
      Found.insert(&MI);
    return Found;
  }

  /// Their blocks.
  llvm::SmallVector<llvm::MachineBasicBlock *, 8> blocks(llvm::Register R) const {
    llvm::SmallSetVector<llvm::MachineBasicBlock *, 8> Found;
    for (llvm::MachineInstr *MI : instructions(R))
      Found.insert(MI->getParent());
    return Found.takeVector();
  }

  /// The first unit of a register: the same for its parts of other sizes.
  llvm::MCRegUnit unit(llvm::MCRegister Register) const { return *MRI.getTargetRegisterInfo()->regunits(Register).begin(); }
};

/// The live ranges in the way of one that is to have a register; so many of them at most for each of the register's units.
inline llvm::SmallVector<const llvm::LiveInterval *, 8> interferers(const Analyses &A, const llvm::LiveInterval &Range, llvm::MCRegister Register,
                                                                    unsigned Most = UINT_MAX) {
  llvm::SmallVector<const llvm::LiveInterval *, 8> Found;
  for (const llvm::MCRegUnit Unit : A.MRI.getTargetRegisterInfo()->regunits(Register))
    for (const llvm::LiveInterval *Other : A.Matrix.query(Range, Unit).interferingVRegs(Most))
      if (!llvm::is_contained(Found, Other))
        Found.push_back(Other);
  return Found;
}

} // namespace mlcb::rl4real
