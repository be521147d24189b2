// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/CalleeSaves.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

CalleeSaves::CalleeSaves(const Analyses &A) : A(A) {
  const TargetInstrInfo &Target = *A.MF.getSubtarget().getInstrInfo();
  const auto NeedsFrame = [&](const MachineInstr &MI) {
    return Target.isFrameInstr(MI) || any_of(MI.operands(), [](const MachineOperand &Operand) { return Operand.isFI(); });
  };
  SmallVector<MachineBasicBlock *, 16> Blocks;
  for (MachineBasicBlock &Block : A.MF)
    if (any_of(Block, NeedsFrame))
      Blocks.push_back(&Block);
  Save = around(Blocks);
}

MachineBasicBlock *CalleeSaves::around(ArrayRef<MachineBasicBlock *> Blocks) const {
  MachineBasicBlock *Around = Save;
  for (MachineBasicBlock *Block : Blocks)
    if (A.Dominators.isReachableFromEntry(Block))
      Around = Around ? A.Dominators.findNearestCommonDominator(Around, Block) : Block;
  return Around;
}

/// Saves leave loops, and are never more frequent than the function.
double CalleeSaves::times(MachineBasicBlock *Block) const {
  double Least = 1;
  for (const MachineDomTreeNode *Node = Block ? A.Dominators.getNode(Block) : nullptr; Node; Node = Node->getIDom())
    Least = std::min(Least, A.frequency(*Node->getBlock()));
  return Block ? Least : 0;
}

CalleeSaves::Price CalleeSaves::in(ArrayRef<MachineBasicBlock *> Blocks) const {
  constexpr double Each = measure::StoreWeight + measure::LoadWeight;
  const double Times = times(around(Blocks)), More = Used ? Used * Each * (Times - times(Save)) : 0;
  return {Each * Times + More, More};
}

double CalleeSaves::of(MCPhysReg Register, Price Saved) const {
  if (!A.Classes.getLastCalleeSavedAlias(Register))
    return 0;
  return isUsed(Register) ? Saved.More : Saved.First;
}

void CalleeSaves::use(MCRegister Register, ArrayRef<MachineBasicBlock *> Blocks) {
  if (!A.Classes.getLastCalleeSavedAlias(Register))
    return;
  Used += !isUsed(Register);
  Save = around(Blocks);
}

} // namespace mlcb::rl4real
