// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Splitting.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

#include <cmath>

using namespace llvm;

namespace mlcb::rl4real {

static constexpr size_t MostBlocks = 8, MostParts = 8, MostUses = 64, MostLive = 128, MostEdges = 4096, MostCopies = 64;
static constexpr int FarApart = 16; // instructions

static Region regionOf(ArrayRef<MachineBasicBlock *> Blocks) {
  Region Whole;
  Whole.Blocks.assign(Blocks.begin(), Blocks.end());
  for (const MachineBasicBlock *Block : Blocks) {
    Whole.Numbers.insert(Block->getNumber());
    Whole.Links += Block->pred_size() + Block->succ_size();
  }
  return Whole;
}

SmallVector<Region, 4> Splitting::regions(const LiveInterval &Range, function_ref<double(MCPhysReg)> Saves) {
  SmallVector<Region, 4> Legal;
  if (!canSplit(Range))
    return Legal;
  SmallSetVector<MachineBasicBlock *, 8> Uses;
  const auto Instructions = A.instructions(Range.reg());
  for (MachineInstr *MI : Instructions)
    Uses.insert(MI->getParent());
  SmallVector<MachineBasicBlock *, 8> Hottest(Uses.begin(), Uses.end());
  const auto Key = [&](const MachineBasicBlock *Block) { return std::pair(~A.Frequencies.getBlockFreq(Block).getFrequency(), Block->getNumber()); };
  sort(Hottest, [&](const auto *L, const auto *R) { return Key(L) < Key(R); });
  SmallPtrSet<const MachineLoop *, 4> Seen;
  const auto Offer = [&](const Region &Found) {
    const auto IsThere = [&](const Region &Other) { return Other.First == Found.First && Other.Last == Found.Last && Other.Blocks == Found.Blocks; };
    if (any_of(Legal, IsThere))
      return;
    const bool All = all_of(Instructions, [&](const MachineInstr *MI) { return holds(Found, *MI); });
    const std::optional<Plan> Copies = All ? std::nullopt : plan(Range, Found);
    Refused += !All && !Copies;
    if (!Copies)
      return;
    Region Rated = Found;
    rate(Rated, Range, *Copies, Saves);
    Legal.insert(upper_bound(Legal, Rated, [](const Region &L, const Region &R) { return L.gain() > R.gain(); }), std::move(Rated));
  };
  if (const Region Rest = liveWithoutCalls(Range); !Rest.Blocks.empty())
    Offer(Rest);
  for (MachineBasicBlock *Block : ArrayRef(Hottest).take_front(MostBlocks)) {
    for (const MachineLoop *Loop = A.Loops.getLoopFor(Block); Loop && Seen.insert(Loop).second; Loop = Loop->getParentLoop()) {
      const LoopRegions &Found = regionsOf(*Loop);
      Offer(Found.All);
      if (!Found.WithoutCalls.Blocks.empty())
        Offer(Found.WithoutCalls);
    }
    Offer(regionOf(Block));
    const auto UsesHere = usesIn(*Block, Range);
    for (const Parts &Found : {partsOf(*Block, UsesHere), partsThatFit(*Block, UsesHere, Range)})
      for (const Region &Part : Found)
        Offer(Part);
  }
  return Legal;
}

Region Splitting::withoutCalls(ArrayRef<MachineBasicBlock *> Blocks) const {
  const auto HasNone = [&](const MachineBasicBlock *Block) { return A.LIS.getRegMaskSlotsInBlock(Block->getNumber()).empty(); };
  return regionOf(to_vector(make_filter_range(Blocks, HasNone)));
}

const Splitting::LoopRegions &Splitting::regionsOf(const MachineLoop &Loop) {
  const auto [Known, IsNew] = Loops.try_emplace(&Loop);
  if (IsNew) {
    Known->second.All = regionOf(Loop.getBlocks());
    if (Region Rest = withoutCalls(Loop.getBlocks()); Rest.Blocks.size() < Loop.getNumBlocks())
      Known->second.WithoutCalls = std::move(Rest);
  }
  return Known->second;
}

/// The blocks where the live range needs no callee-saved register; none where these are all or too many.
Region Splitting::liveWithoutCalls(const LiveInterval &Range) const {
  SmallVector<MachineBasicBlock *, 16> Live;
  for (const LiveRange::Segment &Segment : Range)
    for (auto Block = A.LIS.getMBBFromIndex(Segment.start)->getIterator(); Block != A.MF.end() && A.LIS.getMBBStartIdx(&*Block) < Segment.end;
         ++Block) {
      if (!Live.empty() && Live.back() == &*Block)
        continue;
      if (Live.size() == MostLive)
        return {};
      Live.push_back(&*Block);
    }
  Region Rest = withoutCalls(Live);
  return Rest.Blocks.size() == Live.size() ? Region() : Rest;
}

/// The runs of uses between which there is a call, or much else.
Splitting::Parts Splitting::partsOf(MachineBasicBlock &Block, ArrayRef<SlotIndex> Uses) const {
  Parts Found;
  for (const SlotIndex Use : Uses)
    if (Found.empty() || isFar(Found.back().Last, Use, Block))
      Found.push_back({{&Block}, Use, Use, {}});
    else
      Found.back().Last = Use;
  const bool IsWhole = Found.size() == 1 && A.LIS.getRegMaskSlotsInBlock(Block.getNumber()).empty();
  Found.truncate(IsWhole ? 0 : std::min(Found.size(), MostParts));
  return Found;
}

/// The longest runs of uses with a register that is free throughout.
Splitting::Parts Splitting::partsThatFit(MachineBasicBlock &Block, ArrayRef<SlotIndex> Uses, const LiveInterval &Range) const {
  Parts Found;
  if (Uses.size() < 2 || Uses.size() > MostUses)
    return Found;
  SmallVector<std::pair<size_t, size_t>, 8> Runs;
  for (const MCPhysReg Register : A.order(Range.reg()))
    for (size_t From = 0, To = 0; From < Uses.size(); From = ++To) {
      while (To + 1 < Uses.size() && isFree(Register, Uses[To], Uses[To + 1], Block))
        ++To;
      if (To > From && !is_contained(Runs, std::pair(From, To)))
        Runs.push_back({From, To});
    }
  sort(Runs, [](const auto &L, const auto &R) { return std::pair(R.second - R.first, L.first) < std::pair(L.second - L.first, R.first); });
  for (const auto &[From, To] : ArrayRef(Runs).take_front(std::min(Runs.size(), MostParts)))
    Found.push_back({{&Block}, Uses[From], Uses[To], {}});
  return Found;
}

SmallVector<SlotIndex, 8> Splitting::usesIn(const MachineBasicBlock &Block, const LiveInterval &Range) const {
  SmallVector<SlotIndex, 8> Uses;
  for (const MachineInstr *MI : A.instructions(Range.reg()))
    if (MI->getParent() == &Block)
      Uses.push_back(A.LIS.getInstructionIndex(*MI));
  sort(Uses);
  return Uses;
}

/// From before an instruction until after another one.
bool Splitting::isFree(MCPhysReg Register, SlotIndex First, SlotIndex Last, const MachineBasicBlock &Block) const {
  const SlotIndex From = First.getBaseIndex(), To = Last.getDeadSlot();
  const TargetRegisterInfo &Target = *A.MRI.getTargetRegisterInfo();
  const ArrayRef<SlotIndex> Calls = A.LIS.getRegMaskSlotsInBlock(Block.getNumber());
  const ArrayRef<const uint32_t *> Masks = A.LIS.getRegMaskBitsInBlock(Block.getNumber());
  for (size_t Call = lower_bound(Calls, From) - Calls.begin(); Call < Calls.size() && Calls[Call] < To; ++Call)
    if (MachineOperand::clobbersPhysReg(Masks[Call], Register))
      return false;
  return !A.Matrix.checkInterference(From, To, Register) &&
         none_of(Target.regunits(Register), [&](MCRegUnit Unit) { return A.LIS.getRegUnit(Unit).overlaps(From, To); });
}

bool Splitting::isFar(SlotIndex One, SlotIndex Next, const MachineBasicBlock &Block) const {
  const ArrayRef<SlotIndex> Calls = A.LIS.getRegMaskSlotsInBlock(Block.getNumber());
  const auto *Call = lower_bound(Calls, One); // its own, too
  return One.distance(Next) > FarApart * SlotIndex::InstrDist || (Call != Calls.end() && *Call < Next);
}

bool Splitting::holds(const Region &Within, const MachineInstr &MI) const {
  if (!Within.isPart())
    return Within.has(*MI.getParent());
  if (MI.getParent() != Within.Blocks.front() || MI.isDebugInstr())
    return false;
  const SlotIndex At = A.LIS.getInstructionIndex(MI);
  return Within.First <= At && At <= Within.Last;
}

void Splitting::rate(Region &Within, const LiveInterval &Range, const Plan &Copies, function_ref<double(MCPhysReg)> Saves) const {
  bool IsWritten = false;
  for (MachineInstr *MI : A.instructions(Range.reg()))
    if (holds(Within, *MI)) {
      const auto [Reads, Writes] = MI->readsWritesVirtualRegister(Range.reg());
      Within.SpillCost += A.frequency(*MI->getParent()) * (Reads * measure::LoadWeight + Writes * measure::StoreWeight);
      IsWritten |= Writes;
      ++Within.Uses;
    }
  for (const Copy &Each : Copies)
    Within.Edges += A.frequency(*Each.Block) * (Each.Inwards ? measure::LoadWeight : IsWritten * measure::StoreWeight);
  LiveInterval Inside(Range.reg(), Range.weight());
  VNInfo::Allocator Values;
  for (const MachineBasicBlock *Block : Within.Blocks) {
    const SlotIndex From = Within.isPart() ? Within.First : A.LIS.getMBBStartIdx(Block);
    const SlotIndex To = Within.isPart() ? Within.Last.getDeadSlot() : A.LIS.getMBBEndIdx(Block);
    for (const auto *Segment = Range.find(From); Segment != Range.end() && Segment->start < To; ++Segment) {
      const SlotIndex Start = std::max(Segment->start, From);
      Inside.addSegment({Start, std::min(Segment->end, To), Inside.getNextValue(Start, Values)});
    }
  }
  A.Matrix.invalidateVirtRegs(); // queries are kept by address
  Within.Saves = HUGE_VAL;
  for (const MCPhysReg Register : A.order(Range.reg()))
    if (A.Matrix.checkInterference(Inside, Register) == LiveRegMatrix::IK_Free) {
      ++Within.Free;
      Within.Saves = std::min(Within.Saves, Saves(Register));
    }
  A.Matrix.invalidateVirtRegs();
  if (!Within.Free)
    Within.Saves = 0;
}

bool Splitting::canSplit(const LiveInterval &Range) const {
  if (Range.hasSubRanges() || !Range.isSpillable())
    return false;
  const auto IsSafe = [](const MachineOperand &Operand) {
    const MachineInstr &MI = *Operand.getParent();
    const MachineBasicBlock &Block = *MI.getParent();
    return !MI.isInlineAsm() && !MI.isEHLabel() && !Block.isEHPad() && !Block.hasEHPadSuccessor() && !Block.isInlineAsmBrIndirectTarget();
  };
  return all_of(A.MRI.reg_nodbg_operands(Range.reg()), IsSafe);
}

std::optional<Splitting::Plan> Splitting::plan(const LiveInterval &Range, const Region &Within) const {
  if (Within.isPart())
    return planPart(Range, Within);
  if (Within.Links > MostEdges) // each is looked at for each live range
    return std::nullopt;
  Plan Copies;
  Exits Known;
  for (MachineBasicBlock *Block : Within.Blocks)
    if (!planEntry(Range, *Block, Within, Copies) || !planExit(Range, *Block, Within, Known, Copies))
      return std::nullopt;
  return Copies;
}

std::optional<Splitting::Plan> Splitting::planPart(const LiveInterval &Range, const Region &Within) const {
  MachineInstr *First = A.LIS.getInstructionFromIndex(Within.First), *Last = A.LIS.getInstructionFromIndex(Within.Last);
  if (Last->isTerminator() || First->isBundled() || Last->isBundled())
    return std::nullopt;
  Plan Copies;
  if (Range.Query(Within.First).valueIn())
    Copies.push_back({First->getParent(), First->getIterator(), /*Inwards=*/true});
  if (Range.Query(Within.Last).valueOut())
    Copies.push_back({Last->getParent(), std::next(Last->getIterator()), /*Inwards=*/false});
  return Copies;
}

bool Splitting::planEntry(const LiveInterval &Range, MachineBasicBlock &Block, const Region &Within, Plan &Copies) const {
  const auto IsInside = [&](MachineBasicBlock *Other) { return Within.has(*Other); };
  if (!A.LIS.isLiveInToMBB(Range, &Block) || all_of(Block.predecessors(), IsInside))
    return true;
  if (none_of(Block.predecessors(), IsInside))
    return planCopy(Range, Block, /*AtEnd=*/false, /*Inwards=*/true, Copies);
  return all_of(Block.predecessors(),
                [&](MachineBasicBlock *Other) { return IsInside(Other) || planCopy(Range, *Other, /*AtEnd=*/true, /*Inwards=*/true, Copies); });
}

bool Splitting::planExit(const LiveInterval &Range, MachineBasicBlock &Block, const Region &Within, Exits &Known, Plan &Copies) const {
  return all_of(Block.successors(), [&](MachineBasicBlock *Next) {
    if (Within.has(*Next) || !A.LIS.isLiveInToMBB(Range, Next))
      return true;
    const auto [Exit, IsNew] = Known.try_emplace(Next);
    if (IsNew)
      Exit->second = all_of(Next->predecessors(), [&](MachineBasicBlock *Other) { return Within.has(*Other); });
    const bool OnlyFromInside = Exit->second;
    return planCopy(Range, OnlyFromInside ? *Next : Block, /*AtEnd=*/!OnlyFromInside, /*Inwards=*/false, Copies);
  });
}

bool Splitting::planCopy(const LiveInterval &Range, MachineBasicBlock &Block, bool AtEnd, bool Inwards, Plan &Copies) const {
  const auto Before = AtEnd ? Block.getFirstTerminator() : Block.SkipPHIsLabelsAndDebug(Block.begin());
  const auto IsThere = [&](const Copy &Other) { return Other.Block == &Block && Other.Before == Before; };
  if (any_of(Copies, [&](const Copy &Other) { return IsThere(Other) && Other.Inwards == Inwards; }))
    return true;
  const auto Reads = [&](const MachineInstr &MI) {
    return MI.isInlineAsm() || any_of(MI.operands(), [&](const MachineOperand &O) { return O.isReg() && O.getReg() == Range.reg(); });
  };
  const auto IsLiveOut = [&](const MachineBasicBlock *Block) { return A.LIS.isLiveOutOfMBB(Range, Block); }; // not so where it is undefined
  if (!(AtEnd ? IsLiveOut(&Block) : all_of(Block.predecessors(), IsLiveOut)))
    return false;
  if (Block.isEHPad() || Block.hasEHPadSuccessor() || Block.isInlineAsmBrIndirectTarget())
    return false;
  if (AtEnd && (Block.mayHaveInlineAsmBr() || any_of(Block.terminators(), Reads)))
    return false;
  // The start of a block is before its end even where there is nothing between: what comes in there must not overwrite what goes out.
  Copies.insert(AtEnd ? Copies.end() : find_if(Copies, IsThere), Copy{&Block, Before, Inwards});
  return Copies.size() <= MostCopies;
}

void Splitting::split(const LiveInterval &Range, const Region &Within, SmallVectorImpl<Register> &New) {
  const Register Old = Range.reg(), Original = A.VRM.getOriginal(Old);
  const Plan Copies = *plan(Range, Within);
  const Register Inner = A.MRI.cloneVirtualRegister(Old), Outer = A.MRI.cloneVirtualRegister(Old);
  A.VRM.grow();
  const size_t First = New.size();
  for (MachineOperand &Operand : make_early_inc_range(A.MRI.reg_operands(Old))) {
    Operand.setReg(holds(Within, *Operand.getParent()) ? Inner : Outer);
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
  const MCInstrDesc &Description = A.MF.getSubtarget().getInstrInfo()->get(TargetOpcode::COPY);
  MachineInstr &MI =
      *BuildMI(*Where.Block, Where.Before, DebugLoc(), Description, Where.Inwards ? Inner : Outer).addReg(Where.Inwards ? Outer : Inner);
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
