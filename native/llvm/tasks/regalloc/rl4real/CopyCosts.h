// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the copies of a live range cost.
#pragma once

#include "llvm/measure/AllocationCost.h"
#include "llvm/tasks/regalloc/rl4real/Analyses.h"

#include "llvm/ADT/DenseMap.h"

namespace mlcb::rl4real {

/// The cost of the copies from and to each register, by its first unit.
using CopyCosts = llvm::SmallDenseMap<llvm::MCRegUnit, double, 4>;

/// The copies between a live range and registers; those of other live ranges that have one too, unless OnlyFixed.
inline CopyCosts copiesOf(const Analyses &A, llvm::Register R, bool OnlyFixed) {
  CopyCosts Known;
  for (const llvm::MachineInstr *MI : A.instructions(R)) {
    if (!MI->isCopy())
      continue;
    const llvm::Register Other = MI->getOperand(MI->getOperand(0).getReg() == R).getReg();
    const llvm::MCRegister Physical = Other.isPhysical()                   ? Other.asMCReg()
                                      : !OnlyFixed && A.VRM.hasPhys(Other) ? llvm::MCRegister(A.VRM.getPhys(Other))
                                                                           : llvm::MCRegister();
    if (Physical)
      Known[A.unit(Physical)] += measure::CopyWeight * A.frequency(*MI->getParent());
  }
  return Known;
}

} // namespace mlcb::rl4real
