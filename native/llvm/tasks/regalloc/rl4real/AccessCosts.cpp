// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/AccessCosts.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

/// The only instruction that makes the value; null where there are several. That of a part is a copy, and the original's counts, as for LLVM's spiller.
static const MachineInstr *definition(const Analyses &A, const LiveInterval &Range) {
  const MachineInstr *Own = A.MRI.getUniqueVRegDef(Range.reg());
  if (!Own || !Own->isCopy() || A.VRM.getOriginal(Range.reg()) == Range.reg())
    return Own;
  const LiveInterval &Original = A.LIS.getInterval(A.VRM.getOriginal(Range.reg()));
  const bool IsOne = Original.getNumValNums() == 1 && !Original.getValNumInfo(0)->isPHIDef();
  return IsOne ? A.LIS.getInstructionFromIndex(Original.getValNumInfo(0)->def) : nullptr;
}

/// Whether what an instruction computes can be computed anew wherever a live range is read: what it reads itself is still the same.
static bool canComputeAnew(const Analyses &A, const MachineInstr &Definition, const LiveInterval &Range) {
  const TargetInstrInfo &Target = *A.MF.getSubtarget().getInstrInfo();
  if (!Target.isReMaterializable(Definition))
    return false;
  const SlotIndex At = A.LIS.getInstructionIndex(Definition);
  return all_of(Definition.all_uses(), [&](const MachineOperand &Operand) {
    if (!Operand.getReg().isVirtual())
      return true;
    const LiveInterval &Input = A.LIS.getInterval(Operand.getReg());
    const VNInfo *Value = Input.Query(At).valueIn();
    return Value && !Input.hasSubRanges() && all_of(A.instructions(Range.reg()), [&](const MachineInstr *MI) {
             return MI == &Definition || Input.getVNInfoAt(A.LIS.getInstructionIndex(*MI).getRegSlot(/*EC=*/true)) == Value;
           });
  });
}

AccessCosts accessCosts(const Analyses &A, const LiveInterval &Range) {
  const MachineInstr *Definition = definition(A, Range);
  if (!Definition || !canComputeAnew(A, *Definition, Range))
    return {measure::LoadWeight, measure::StoreWeight};
  const double Anew = Definition->getDesc().isAsCheapAsAMove() ? measure::CheapRematWeight : measure::ExpensiveRematWeight;
  return {Anew, -Anew};
}

} // namespace mlcb::rl4real
