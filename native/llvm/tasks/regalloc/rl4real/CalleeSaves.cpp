// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/CalleeSaves.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/ADT/DepthFirstIterator.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

CalleeSaves::CalleeSaves(const Analyses &A) : A(A), Times(A.MF.getNumBlockIDs()) {
  A.Dominators.updateDFSNumbers();
  for (const MachineDomTreeNode *Node : depth_first(A.Dominators.getRootNode())) {
    const MachineDomTreeNode *Above = Node->getIDom();
    Times[Node->getBlock()->getNumber()] = std::min(Above ? Times[Above->getBlock()->getNumber()] : 1, A.frequency(*Node->getBlock()));
  }
  const TargetInstrInfo &Target = *A.MF.getSubtarget().getInstrInfo();
  const auto NeedsFrame = [&](const MachineInstr &MI) {
    return Target.isFrameInstr(MI) || any_of(MI.operands(), [](const MachineOperand &Operand) { return Operand.isFI(); });
  };
  SmallVector<MachineBasicBlock *, 16> Blocks;
  for (MachineBasicBlock &Block : A.MF)
    if (any_of(Block, NeedsFrame))
      Blocks.push_back(&Block);
  needFrame(Blocks);
}

/// What dominates some blocks dominates the first and the last of them, in the order of the tree.
MachineBasicBlock *CalleeSaves::around(ArrayRef<MachineBasicBlock *> Blocks) const {
  const auto Place = [&](MachineBasicBlock *Block) { return A.Dominators.getNode(Block)->getDFSNumIn(); };
  MachineBasicBlock *First = Save, *Last = Save;
  for (MachineBasicBlock *Block : Blocks)
    if (A.Dominators.isReachableFromEntry(Block)) {
      First = First && Place(First) <= Place(Block) ? First : Block;
      Last = Last && Place(Last) >= Place(Block) ? Last : Block;
    }
  return First ? A.Dominators.findNearestCommonDominator(First, Last) : nullptr;
}

unsigned CalleeSaves::used() const {
  unsigned Used = 0;
  for (const MCPhysReg *Register = A.MRI.getCalleeSavedRegs(); *Register; ++Register)
    Used += isUsed(*Register);
  return Used;
}

CalleeSaves::Price CalleeSaves::in(ArrayRef<MachineBasicBlock *> Blocks) const {
  constexpr double Each = measure::StoreWeight + measure::LoadWeight;
  const double Then = times(around(Blocks)), Now = times(Save), More = Then == Now ? 0 : used() * Each * (Then - Now);
  return {Each * Then + More, More};
}

double CalleeSaves::of(MCPhysReg Register, Price Saved) const {
  if (!isCalleeSaved(Register))
    return 0;
  return isUsed(Register) ? Saved.More : Saved.First;
}

} // namespace mlcb::rl4real
