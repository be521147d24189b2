// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Splitting.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

#include <cmath>

using namespace llvm;

namespace mlcb::rl4real {

using Blocks = SmallVector<MachineBasicBlock *, 4>;

static constexpr size_t MostBlocks = 8;

static Blocks blocksOf(const MachineLoop &Loop) { return {Loop.block_begin(), Loop.block_end()}; }

SmallVector<Region, 4> Splitting::regions(const LiveInterval &Range, function_ref<double(MCPhysReg)> Saves) {
  SmallVector<Region, 4> Legal;
  if (!canSplit(Range))
    return Legal;
  SmallSetVector<MachineBasicBlock *, 8> Uses;
  for (MachineInstr &MI : A.MRI.reg_nodbg_instructions(Range.reg()))
    Uses.insert(MI.getParent());
  SmallVector<MachineBasicBlock *, 8> Hottest(Uses.begin(), Uses.end());
  const auto Key = [&](const MachineBasicBlock *Block) { return std::pair(~A.Frequencies.getBlockFreq(Block).getFrequency(), Block->getNumber()); };
  sort(Hottest, [&](const auto *L, const auto *R) { return Key(L) < Key(R); });
  SmallPtrSet<const MachineLoop *, 4> Seen;
  const auto Offer = [&](Blocks Within) {
    const bool All = all_of(Uses, [&](MachineBasicBlock *Block) { return is_contained(Within, Block); });
    const std::optional<Plan> Copies = All ? std::nullopt : plan(Range, Within);
    Refused += !All && !Copies;
    if (!Copies)
      return;
    Region Rated{std::move(Within)};
    rate(Rated, Range, *Copies, Saves);
    Legal.insert(upper_bound(Legal, Rated, [](const Region &L, const Region &R) { return L.gain() > R.gain(); }), Rated);
  };
  for (MachineBasicBlock *Block : ArrayRef(Hottest).take_front(MostBlocks)) {
    for (const MachineLoop *Loop = A.Loops.getLoopFor(Block); Loop && Seen.insert(Loop).second; Loop = Loop->getParentLoop())
      Offer(blocksOf(*Loop));
    Offer({Block});
  }
  return Legal;
}

void Splitting::rate(Region &Within, const LiveInterval &Range, const Plan &Copies, function_ref<double(MCPhysReg)> Saves) const {
  bool IsWritten = false;
  for (MachineInstr &MI : A.MRI.reg_nodbg_instructions(Range.reg()))
    if (is_contained(Within.Blocks, MI.getParent())) {
      const auto [Reads, Writes] = MI.readsWritesVirtualRegister(Range.reg());
      Within.SpillCost += A.frequency(*MI.getParent()) * (Reads * measure::LoadWeight + Writes * measure::StoreWeight);
      IsWritten |= Writes;
    }
  for (const Copy &Each : Copies)
    Within.Edges += A.frequency(*Each.Block) * (Each.Inwards ? measure::LoadWeight : IsWritten * measure::StoreWeight);
  LiveInterval Part(Range.reg(), Range.weight());
  VNInfo::Allocator Values;
  for (const MachineBasicBlock *Block : Within.Blocks)
    for (const LiveRange::Segment &Segment : Range)
      if (const SlotIndex Start = std::max(Segment.start, A.LIS.getMBBStartIdx(Block)), End = std::min(Segment.end, A.LIS.getMBBEndIdx(Block));
          Start < End)
        Part.addSegment({Start, End, Part.getNextValue(Start, Values)});
  A.Matrix.invalidateVirtRegs(); // queries are kept by address
  Within.Saves = HUGE_VAL;
  for (const MCPhysReg Register : A.order(Range.reg()))
    if (A.Matrix.checkInterference(Part, Register) == LiveRegMatrix::IK_Free) {
      ++Within.Free;
      Within.Saves = std::min(Within.Saves, Saves(Register));
    }
  A.Matrix.invalidateVirtRegs();
  if (!Within.Free)
    Within.Saves = 0;
}

bool Splitting::canSplit(const LiveInterval &Range) const {
  if (Range.hasSubRanges() || !Range.isSpillable() || A.LIS.intervalIsInOneMBB(Range))
    return false;
  const auto IsSafe = [](const MachineOperand &Operand) {
    const MachineInstr &MI = *Operand.getParent();
    const MachineBasicBlock &Block = *MI.getParent();
    return !MI.isInlineAsm() && !MI.isEHLabel() && !Block.isEHPad() && !Block.hasEHPadSuccessor() && !Block.isInlineAsmBrIndirectTarget();
  };
  return all_of(A.MRI.reg_nodbg_operands(Range.reg()), IsSafe);
}

std::optional<Splitting::Plan> Splitting::plan(const LiveInterval &Range, ArrayRef<MachineBasicBlock *> Within) const {
  const BlockSet Inside(Within.begin(), Within.end());
  Plan Copies;
  for (MachineBasicBlock *Block : Within)
    if (!planEntry(Range, *Block, Inside, Copies) || !planExit(Range, *Block, Inside, Copies))
      return std::nullopt;
  return Copies;
}

bool Splitting::planEntry(const LiveInterval &Range, MachineBasicBlock &Block, const BlockSet &Inside, Plan &Copies) const {
  const auto IsInside = [&](MachineBasicBlock *Other) { return Inside.contains(Other); };
  if (!A.LIS.isLiveInToMBB(Range, &Block) || all_of(Block.predecessors(), IsInside))
    return true;
  if (none_of(Block.predecessors(), IsInside))
    return planCopy(Range, {&Block, /*AtEnd=*/false, /*Inwards=*/true}, Copies);
  return all_of(Block.predecessors(),
                [&](MachineBasicBlock *Other) { return IsInside(Other) || planCopy(Range, {Other, /*AtEnd=*/true, /*Inwards=*/true}, Copies); });
}

bool Splitting::planExit(const LiveInterval &Range, MachineBasicBlock &Block, const BlockSet &Inside, Plan &Copies) const {
  return all_of(Block.successors(), [&](MachineBasicBlock *Next) {
    if (Inside.contains(Next) || !A.LIS.isLiveInToMBB(Range, Next))
      return true;
    const bool OnlyFromInside = all_of(Next->predecessors(), [&](MachineBasicBlock *Other) { return Inside.contains(Other); });
    return planCopy(Range, OnlyFromInside ? Copy{Next, false, false} : Copy{&Block, true, false}, Copies);
  });
}

bool Splitting::planCopy(const LiveInterval &Range, Copy Where, Plan &Copies) const {
  const auto Reads = [&](const MachineInstr &MI) {
    return MI.isInlineAsm() || any_of(MI.operands(), [&](const MachineOperand &O) { return O.isReg() && O.getReg() == Range.reg(); });
  };
  const auto IsLiveOut = [&](const MachineBasicBlock *Block) { return A.LIS.isLiveOutOfMBB(Range, Block); }; // not so where it is undefined
  if (!(Where.AtEnd ? IsLiveOut(Where.Block) : all_of(Where.Block->predecessors(), IsLiveOut)))
    return false;
  if (Where.Block->isEHPad() || Where.Block->hasEHPadSuccessor() || Where.Block->isInlineAsmBrIndirectTarget() ||
      (Where.AtEnd && any_of(Where.Block->terminators(), Reads)))
    return false;
  const auto IsSame = [&](const Copy &Other) { return Other.Block == Where.Block && Other.AtEnd == Where.AtEnd && Other.Inwards == Where.Inwards; };
  if (none_of(Copies, IsSame))
    Copies.push_back(Where);
  return true;
}

void Splitting::split(const LiveInterval &Range, const Region &Within, SmallVectorImpl<Register> &New) {
  const Register Old = Range.reg(), Original = A.VRM.getOriginal(Old);
  const Plan Copies = *plan(Range, Within.Blocks);
  const Register Inner = A.MRI.cloneVirtualRegister(Old), Outer = A.MRI.cloneVirtualRegister(Old);
  A.VRM.grow();
  const size_t First = New.size();
  for (MachineOperand &Operand : make_early_inc_range(A.MRI.reg_operands(Old))) {
    Operand.setReg(is_contained(Within.Blocks, Operand.getParent()->getParent()) ? Inner : Outer);
    if (Operand.isUse())
      Operand.setIsKill(false);
  }
  for (const Copy &Where : Copies)
    addCopy(Where, Inner, Outer);
  for (const Register R : {Outer, Inner})
    addRange(R, Original, New);
  A.Debug.splitRegister(Old, ArrayRef(New).drop_front(First), A.LIS);
}

void Splitting::addCopy(const Copy &Where, Register Inner, Register Outer) {
  MachineBasicBlock &Block = *Where.Block;
  const auto Place = Where.AtEnd ? Block.getFirstTerminator() : Block.SkipPHIsLabelsAndDebug(Block.begin());
  const MCInstrDesc &Description = A.MF.getSubtarget().getInstrInfo()->get(TargetOpcode::COPY);
  MachineInstr &MI = *BuildMI(Block, Place, DebugLoc(), Description, Where.Inwards ? Inner : Outer).addReg(Where.Inwards ? Outer : Inner);
  A.LIS.InsertMachineInstrInMaps(MI);
}

void Splitting::addRange(Register R, Register Original, SmallVectorImpl<Register> &New) {
  A.VRM.setIsSplitFromReg(R, Original);
  if (A.MRI.reg_nodbg_empty(R))
    return;
  LiveInterval &Range = A.LIS.createAndComputeVirtRegInterval(R);
  SmallVector<LiveInterval *, 4> Parts;
  A.LIS.splitSeparateComponents(Range, Parts);
  A.VRM.grow();
  for (const LiveInterval *Part : Parts)
    A.VRM.setIsSplitFromReg(Part->reg(), Original);
  Parts.push_back(&Range);
  for (LiveInterval *Part : Parts) {
    A.Weights.calculateSpillWeightAndHint(*Part);
    New.push_back(Part->reg());
  }
}

} // namespace mlcb::rl4real
