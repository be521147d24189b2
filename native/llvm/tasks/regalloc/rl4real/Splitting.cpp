// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Splitting.h"

#include "llvm/measure/AllocationCost.h"
#include "llvm/tasks/regalloc/rl4real/FittingBlocks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

#include <cmath>

using namespace llvm;

namespace mlcb::rl4real {

static constexpr size_t MostBlocks = 8, MostParts = 8, MostUses = 64, MostPassed = 512, MostEdges = 4096, MostCopies = 64;
static constexpr int FarApart = 16; // instructions

static Region whole(ArrayRef<MachineBasicBlock *> Blocks) {
  Region Whole;
  Whole.Blocks.assign(Blocks.begin(), Blocks.end());
  sort(Whole.Blocks, [](const MachineBasicBlock *L, const MachineBasicBlock *R) { return L->getNumber() < R->getNumber(); });
  for (const MachineBasicBlock *Block : Blocks) {
    Whole.Numbers.insert(Block->getNumber());
    Whole.Links += Block->pred_size() + Block->succ_size();
  }
  return Whole;
}

/// The places where a live range is read or written, in order, by block; those in the hottest blocks.
static SmallVector<std::pair<MachineBasicBlock *, SmallVector<SlotIndex, 8>>, 8> usesByBlock(const Analyses &A, const Accesses &Uses) {
  SmallMapVector<MachineBasicBlock *, SmallVector<SlotIndex, 8>, 8> Found;
  for (const Access &Each : Uses.All)
    Found[Each.block()].push_back(Each.At);
  auto ByBlock = Found.takeVector();
  const auto Key = [&](const auto &Each) { return std::pair(~A.Frequencies.getBlockFreq(Each.first).getFrequency(), Each.first->getNumber()); };
  sort(ByBlock, [&](const auto &L, const auto &R) { return Key(L) < Key(R); });
  ByBlock.truncate(std::min(ByBlock.size(), MostBlocks));
  for (auto &[Block, Places] : ByBlock)
    sort(Places);
  return ByBlock;
}

SmallVector<Region, 4> Splitting::regions(const LiveInterval &Range, const CalleeSaves &Saves, ArrayRef<Candidate> Free, EvictionCost Evict) {
  SmallVector<Region, 4> Legal;
  if (!Range.isSpillable())
    return Legal;
  if (!isSafe(Range)) {
    ++Refused;
    return Legal;
  }
  const Accesses Uses = accessesOf(A, Range);
  SmallPtrSet<const MachineLoop *, 4> Seen;
  const auto Offer = [&](const Region &Found) {
    const auto IsThere = [&](const Region &Other) { return Other.First == Found.First && Other.Last == Found.Last && Other.Blocks == Found.Blocks; };
    if (any_of(Legal, IsThere))
      return;
    const std::optional<Plan> Copies = plan(Range, Found);
    Refused += !Copies;
    if (!Copies || Copies->empty()) // without a copy, the live range is within
      return;
    Region Rated = Found;
    rate(Rated, Uses, *Copies, Saves, Free);
    findRegisters(Rated, Range, *Copies, Saves, Evict);
    Legal.insert(upper_bound(Legal, Rated, [](const Region &L, const Region &R) { return L.gain() > R.gain(); }), std::move(Rated));
  };
  const auto Live = liveBlocks(A, Range);
  if (const Region Rest = withoutCalls(Range, Live); !Rest.Blocks.empty())
    Offer(Rest);
  for (const Blocks &Fitting : fittingBlocks(A, Range, Uses, Live))
    Offer(whole(Fitting));
  for (const auto &[Block, UsesHere] : usesByBlock(A, Uses)) {
    for (const MachineLoop *Loop = A.Loops.getLoopFor(Block); Loop && Seen.insert(Loop).second; Loop = Loop->getParentLoop()) {
      Offer(regionOf(*Loop));
      if (const Region Rest = withoutCalls(Range, Loop->getBlocks()); !Rest.Blocks.empty())
        Offer(Rest);
    }
    Offer(whole(Block));
    for (const Parts &Found : {partsOf(*Block, UsesHere), partsThatFit(*Block, UsesHere, Range)})
      for (const Region &Part : Found)
        Offer(Part);
  }
  return Legal;
}

/// The blocks among these that the live range passes without living across a call; none where these are all, or too many to look at each time.
Region Splitting::withoutCalls(const LiveInterval &Range, ArrayRef<MachineBasicBlock *> Blocks) const {
  if (Blocks.size() > MostPassed)
    return {};
  const auto HasNone = [&](const MachineBasicBlock *Block) {
    return none_of(A.LIS.getRegMaskSlotsInBlock(Block->getNumber()), [&](SlotIndex Call) { return Range.liveAt(Call); });
  };
  Region Rest = whole(to_vector(make_filter_range(Blocks, HasNone)));
  return Rest.Blocks.size() == Blocks.size() ? Region() : Rest;
}

const Region &Splitting::regionOf(const MachineLoop &Loop) {
  const auto [Known, IsNew] = Loops.try_emplace(&Loop);
  if (IsNew)
    Known->second = whole(Loop.getBlocks());
  return Known->second;
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
      while (To + 1 < Uses.size() && isFree(A, Register, Uses[To].getBaseIndex(), Uses[To + 1].getDeadSlot(), Block))
        ++To;
      if (To > From && !is_contained(Runs, std::pair(From, To)))
        Runs.push_back({From, To});
    }
  sort(Runs, [](const auto &L, const auto &R) { return std::pair(R.second - R.first, L.first) < std::pair(L.second - L.first, R.first); });
  for (const auto &[From, To] : ArrayRef(Runs).take_front(std::min(Runs.size(), MostParts)))
    Found.push_back({{&Block}, Uses[From], Uses[To], {}});
  return Found;
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

/// Outside it is in memory, or in a register that is free there too, whichever costs less.
void Splitting::rate(Region &Within, const Accesses &Uses, const Plan &Copies, const CalleeSaves &Saves, ArrayRef<Candidate> Free) const {
  bool IsWritten = false;
  double InMemory = 0, Copied = 0; // of the part outside
  Blocks Outside;
  for (const Access &Each : Uses.All) {
    if (!holds(Within, *Each.MI)) {
      InMemory += Each.Cost;
      Outside.push_back(Each.block());
      continue;
    }
    Within.SpillCost += Each.Cost;
    IsWritten |= Each.IsWrite;
    ++Within.Uses;
  }
  for (const Copy &Each : Copies) {
    Within.Edges += A.frequency(*Each.Block) * (Each.Inwards ? Uses.Enter : IsWritten * Uses.Leave);
    Copied += A.frequency(*Each.Block) * measure::CopyWeight;
    Outside.push_back(Each.Block);
  }
  const CalleeSaves::Price Saved = Saves.in(Outside);
  for (const Candidate &Each : Free)
    Within.Edges = std::min(Within.Edges, Copied + Saves.of(Each.Register, Saved) - InMemory);
}

/// The registers that are free inside, and from the copies at the end of blocks before it.
void Splitting::findRegisters(Region &Within, const LiveInterval &Range, const Plan &Copies, const CalleeSaves &Saves, EvictionCost Evict) const {
  LiveInterval Inside(Range.reg(), Range.weight());
  VNInfo::Allocator Values;
  const auto Add = [&](SlotIndex From, SlotIndex To) { Inside.addSegment({From, To, Inside.getNextValue(From, Values)}); };
  for (const MachineBasicBlock *Block : Within.Blocks) {
    const SlotIndex From = Within.isPart() ? Within.First : A.LIS.getMBBStartIdx(Block);
    const SlotIndex To = Within.isPart() ? Within.Last.getDeadSlot() : A.LIS.getMBBEndIdx(Block);
    for (const auto *Segment = Range.find(From); Segment != Range.end() && Segment->start < To; ++Segment)
      Add(std::max(Segment->start, From), std::min(Segment->end, To));
  }
  for (const Copy &Each : Copies)
    if (Each.Inwards && !Within.isPart() && !Within.has(*Each.Block)) {
      const SlotIndex To = A.LIS.getMBBEndIdx(Each.Block);
      Add(Each.Before == Each.Block->end() ? To.getPrevSlot() : A.LIS.getInstructionIndex(*Each.Before), To);
    }
  const CalleeSaves::Price Saved = Saves.in(Within.Blocks);
  A.Matrix.invalidateVirtRegs(); // queries are kept by address
  double Least = HUGE_VAL;
  for (const MCPhysReg Register : A.order(Range.reg()))
    if (A.Matrix.checkInterference(Inside, Register) == LiveRegMatrix::IK_Free) {
      ++Within.Free;
      Least = std::min(Least, Saves.of(Register, Saved));
    }
  if (Within.Free == 0)
    for (const MCPhysReg Register : A.order(Range.reg())) {
      A.Matrix.invalidateVirtRegs();
      if (const std::optional<double> Cost = Evict(Inside, Register, Within.SpillCost - Within.Edges)) {
        ++Within.Free;
        Least = std::min(Least, Saves.of(Register, Saved) + *Cost);
      }
    }
  A.Matrix.invalidateVirtRegs();
  Within.Saves = Within.Free ? Least : 0;
}

bool Splitting::isSafe(const LiveInterval &Range) const {
  const auto MayBeRewritten = [](const MachineOperand &Operand) {
    const MachineInstr &MI = *Operand.getParent();
    return !MI.isInlineAsm() && !MI.isEHLabel();
  };
  return !Range.hasSubRanges() && all_of(A.MRI.reg_nodbg_operands(Range.reg()), MayBeRewritten);
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
  if (Last->isTerminator() || First->isBundled() || Last->isBundled() || First->getParent()->hasEHPadSuccessor())
    return std::nullopt; // what a handler reads is as it was at the call, wherever in the block that is
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
  if (AtEnd ? Block.hasEHPadSuccessor() : Block.isEHPad() || Block.isInlineAsmBrIndirectTarget())
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
