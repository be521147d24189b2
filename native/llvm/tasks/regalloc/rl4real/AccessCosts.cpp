// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/AccessCosts.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

/// The only instruction that makes the value; null where there are several. Where a part is made by copies, that of the live range that it was split
/// from, as for LLVM's spiller.
static const MachineInstr *definition(const Analyses &A, const LiveInterval &Range) {
  const MachineInstr *Own = A.MRI.getUniqueVRegDef(Range.reg());
  const Register Original = A.VRM.getOriginal(Range.reg());
  if (Original == Range.reg() || (Own && !Own->isCopy()))
    return Own;
  const LiveInterval &Whole = A.LIS.getInterval(Original);
  const bool IsOne = Whole.getNumValNums() == 1 && !Whole.getValNumInfo(0)->isPHIDef();
  return IsOne ? A.LIS.getInstructionFromIndex(Whole.getValNumInfo(0)->def) : nullptr;
}

/// Whether what an instruction computes can be computed anew where a live range is read: what it reads itself is still the same.
static bool canComputeAnew(const Analyses &A, const MachineInstr &Definition, ArrayRef<MachineInstr *> Instructions) {
  if (!A.MF.getSubtarget().getInstrInfo()->isReMaterializable(Definition))
    return false;
  const SlotIndex At = A.LIS.getInstructionIndex(Definition);
  return all_of(Definition.all_uses(), [&](const MachineOperand &Operand) {
    if (!Operand.getReg().isVirtual())
      return true;
    const LiveInterval &Input = A.LIS.getInterval(Operand.getReg());
    const VNInfo *Value = Input.Query(At).valueIn();
    return Value && !Input.hasSubRanges() && all_of(Instructions, [&](const MachineInstr *MI) {
             return MI == &Definition || Input.getVNInfoAt(A.LIS.getInstructionIndex(*MI).getRegSlot(/*EC=*/true)) == Value;
           });
  });
}

/// An address costs little, though the metric counts nothing for what reads a register; an argument on the stack is loaded.
static double costAnew(const MachineInstr &Definition) {
  const bool ReadsFrame = any_of(Definition.operands(), [](const MachineOperand &Operand) { return Operand.isFI(); });
  const bool ReadsRegister = any_of(Definition.all_uses(), [](const MachineOperand &Operand) { return Operand.getReg().isValid(); });
  if (ReadsFrame && Definition.mayLoad())
    return measure::LoadWeight;
  const bool IsCheap = Definition.isAsCheapAsAMove() || ((ReadsFrame || ReadsRegister) && !Definition.mayLoad());
  return IsCheap ? measure::CheapRematWeight : measure::ExpensiveRematWeight;
}

namespace {

/// A value that is computed anew where it is read.
class Recomputed {
public:
  explicit Recomputed(const MachineInstr &Definition) : Definition(Definition), Anew(costAnew(Definition)) {}

  double read(const MachineInstr &MI) const {
    const bool IsFolded = Definition.canFoldAsLoad() && !MI.isCopy() && !MI.mayLoadOrStore();
    return IsFolded ? measure::LoadWeight : Anew;
  }
  double write(const MachineInstr &MI) const { return &MI == &Definition ? -Anew : 0; } // a copy of it costs little
  double enter() const { return Anew; }
  static double leave() { return 0; }

private:
  const MachineInstr &Definition;
  double Anew;
};

/// A value in its place of the stack; loads and stores of that go.
class InMemory {
public:
  InMemory(const Analyses &A, Register R) : Target(*A.MF.getSubtarget().getInstrInfo()), R(R), Slot(A.VRM.getStackSlot(A.VRM.getOriginal(R))) {}

  double read(const MachineInstr &MI) const {
    int Frame;
    return Target.isStoreToStackSlot(MI, Frame) == R && Frame == Slot ? -measure::StoreWeight : measure::LoadWeight;
  }
  double write(const MachineInstr &MI) const {
    int Frame;
    return Target.isLoadFromStackSlot(MI, Frame) == R && Frame == Slot ? -measure::LoadWeight : measure::StoreWeight;
  }
  static double enter() { return measure::LoadWeight; }
  static double leave() { return measure::StoreWeight; }

private:
  const TargetInstrInfo &Target;
  Register R;
  int Slot; // none is VirtRegMap::NO_STACK_SLOT, which no instruction names
};

} // namespace

template <class Place> static Accesses accessesIn(const Place &Where, const Analyses &A, Register R, ArrayRef<MachineInstr *> Instructions) {
  Accesses Found{{}, Where.enter(), Where.leave()};
  for (MachineInstr *MI : Instructions) {
    const auto [Reads, Writes] = MI->readsWritesVirtualRegister(R);
    const double Once = (Reads ? Where.read(*MI) : 0) + (Writes ? Where.write(*MI) : 0);
    Found.All.push_back({MI, A.LIS.getInstructionIndex(*MI), Writes, A.frequency(*MI->getParent()) * Once});
  }
  return Found;
}

Accesses accessesOf(const Analyses &A, const LiveInterval &Range) {
  const auto Instructions = A.instructions(Range.reg());
  const MachineInstr *Definition = definition(A, Range);
  if (Definition && canComputeAnew(A, *Definition, Instructions.getArrayRef()))
    return accessesIn(Recomputed(*Definition), A, Range.reg(), Instructions.getArrayRef());
  return accessesIn(InMemory(A, Range.reg()), A, Range.reg(), Instructions.getArrayRef());
}

/// The blocks that a live range lives in.
static SmallSetVector<MachineBasicBlock *, 16> blocksOf(const Analyses &A, const LiveInterval &Range) {
  SmallSetVector<MachineBasicBlock *, 16> Found;
  for (const LiveRange::Segment &Each : Range)
    for (auto Block = A.LIS.getMBBFromIndex(Each.start)->getIterator(); Block != A.MF.end() && A.LIS.getMBBStartIdx(&*Block) < Each.end; ++Block)
      Found.insert(&*Block);
  return Found;
}

double costAround(const Analyses &A, const LiveInterval &Range, const LiveInterval &Other) {
  const auto Taken = blocksOf(A, Other);
  const Accesses Known = accessesOf(A, Range);
  double Cost = 0;
  for (const Access &Each : Known.All)
    Cost += Taken.contains(Each.block()) ? Each.Cost : 0;
  const bool IsWritten = any_of(Known.All, [&](const Access &Each) { return Each.IsWrite && !Taken.contains(Each.block()); });
  const auto Times = [&](const MachineBasicBlock *From, const MachineBasicBlock *To) { return std::min(A.frequency(*From), A.frequency(*To)); };
  for (MachineBasicBlock *Block : blocksOf(A, Range)) {
    if (Taken.contains(Block))
      continue;
    for (MachineBasicBlock *From : Block->predecessors())
      Cost += Taken.contains(From) && A.LIS.isLiveInToMBB(Range, Block) ? Known.Enter * Times(From, Block) : 0;
    for (MachineBasicBlock *To : Block->successors())
      Cost += IsWritten && Taken.contains(To) && A.LIS.isLiveInToMBB(Range, To) ? Known.Leave * Times(Block, To) : 0;
  }
  return Cost;
}

} // namespace mlcb::rl4real
