// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many live ranges are in each register.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

#include <vector>

namespace mlcb::rl4real {

/// Counted once at the start; then only what changes is.
class RegisterUse {
public:
  explicit RegisterUse(const Analyses &A) : A(A), Counts(A.MRI.getTargetRegisterInfo()->getNumRegs()) {
    for (const unsigned I : llvm::seq(A.MRI.getNumVirtRegs()))
      if (const auto R = llvm::Register::index2VirtReg(I); A.VRM.hasPhys(R))
        update(R);
  }

  void update(llvm::Register R) {
    llvm::MCRegister &Counted = Registers[R];
    if (Counted)
      --Counts[Counted.id()];
    Counted = A.VRM.hasPhys(R) ? llvm::MCRegister(A.VRM.getPhys(R)) : llvm::MCRegister();
    if (Counted)
      ++Counts[Counted.id()];
  }

  unsigned operator[](llvm::MCRegister Register) const { return Counts[Register.id()]; }

private:
  const Analyses &A;
  std::vector<unsigned> Counts;                               // of each register of the target
  llvm::DenseMap<llvm::Register, llvm::MCRegister> Registers; // as counted
};

} // namespace mlcb::rl4real
