// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Allocation.h"

#include "llvm/tasks/regalloc/rl4real/AccessCosts.h"
#include "llvm/tasks/regalloc/rl4real/Moves.h"
#include "llvm/tasks/regalloc/rl4real/Recolouring.h"

#include "llvm/CodeGen/TargetRegisterInfo.h"

#include <cmath>

using namespace llvm;

namespace mlcb::rl4real {

static constexpr unsigned MostEvictions = 4; // of a live range
static constexpr size_t MostEvicted = 8;     // at once

Allocation::Allocation(const Analyses &A, FactsOfFunction &Facts, Decider &Policy, SplitLimits MaxSplits)
    : A(A), Facts(Facts), Policy(Policy), MaxSplits(MaxSplits), Splits(A),
      Spill(createInlineSpiller({A.LIS, A.LSS, A.Dominators, A.Frequencies}, A.MF, A.VRM, A.Weights, &A.Matrix)), Saves(A),
      Costs(A.MRI.getTargetRegisterInfo()->getRegisterCosts(A.MF)) {}

Counts Allocation::run() {
  for (unsigned I = 0, E = A.MRI.getNumVirtRegs(); I != E; ++I)
    if (const Register R = Register::index2VirtReg(I); A.VRM.hasPhys(R))
      Given.insert(R);
    else if (!A.MRI.reg_nodbg_empty(R))
      enqueue(R);
  while (!Done.Failed && (!Waiting.empty() || resume())) {
    A.Matrix.invalidateVirtRegs();
    if (const LiveInterval &Range = next(); A.MRI.reg_nodbg_empty(Range.reg()))
      A.LIS.removeInterval(Range.reg());
    else if (!A.VRM.hasPhys(Range.reg()))
      allocate(Range);
    enqueueNew();
    dropEmptied();
  }
  if (!Done.Failed)
    Moves(A, Saves, Given).spareCopies();
  finish();
  Done.Refused = Splits.refused();
  return Done;
}

/// What a spill of another has emptied is nothing to choose.
void Allocation::dropEmptied() {
  if (!std::exchange(HasEmptied, false))
    return;
  const auto Drop = [&](const LiveInterval *Range) {
    const Register R = Range->reg();
    if (!A.MRI.reg_nodbg_empty(R))
      return false;
    Policy.changed(R);
    leave(R);
    A.LIS.removeInterval(R);
    return true;
  };
  erase_if(Waiting, Drop);
  erase_if(Postponed, Drop);
}

void Allocation::finish() {
  if (Done.Failed)
    return handOver();
  Spill->postOptimization();
  for (MachineInstr *MI : DeadRemats) {
    A.LIS.RemoveMachineInstrFromMaps(*MI);
    MI->eraseFromParent();
  }
}

/// Another allocator needs live ranges that end at an instruction: those that only a dead one reads are shrunk.
void Allocation::handOver() {
  for (unsigned I = 0, E = A.MRI.getNumVirtRegs(); I != E; ++I)
    if (const Register R = Register::index2VirtReg(I); A.VRM.hasPhys(R) && !Given.contains(R))
      A.Matrix.unassign(A.LIS.getInterval(R));
  SmallVector<MachineInstr *, 8> Dead(DeadRemats.begin(), DeadRemats.end());
  sort(Dead, [&](const MachineInstr *L, const MachineInstr *R) { return A.LIS.getInstructionIndex(*L) < A.LIS.getInstructionIndex(*R); });
  LiveRangeEdit(nullptr, New, A.MF, A.LIS, &A.VRM, this).eliminateDeadDefs(Dead);
}

void Allocation::enqueueNew() {
  for (const Register R : concat<const Register>(New, Shrunk))
    if (A.LIS.hasInterval(R))
      enqueue(R);
  New.clear();
  Shrunk.clear();
}

void Allocation::enqueue(Register R) {
  Policy.changed(R);
  if (A.VRM.hasPhys(R) || Enqueued.contains(R))
    return;
  const LiveInterval &Range = A.LIS.getInterval(R);
  if (A.MRI.reg_nodbg_empty(R))
    return A.LIS.removeInterval(R);
  const auto Key = [&](const LiveInterval *L) { return std::tuple(Facts.of(*L).Density, -int64_t(L->reg().virtRegIndex())); };
  const auto Place = lower_bound(Waiting, &Range, [&](const LiveInterval *L, const LiveInterval *R) { return Key(L) < Key(R); });
  Waiting.insert(Place, &Range);
  Enqueued.insert(R);
  for (const auto &[Unit, Cost] : copiesOf(A, R, /*OnlyFixed=*/true))
    Wanting[Unit][R] = Cost;
  ++Done.Ranges;
}

/// One that does not wait any more.
void Allocation::leave(Register R) {
  Enqueued.erase(R);
  for (auto &[Unit, Wants] : Wanting)
    Wants.erase(R);
}

size_t Allocation::legal(size_t Answer, size_t Size, function_ref<size_t()> Own) {
  if (Answer < Size)
    return Answer;
  ++Done.Illegal;
  return Own();
}

const LiveInterval &Allocation::next() {
  const size_t Index = legal(Policy.next(Waiting), Waiting.size(), [&] { return Heuristic.next(Waiting); });
  const LiveInterval &Range = *Waiting[Index];
  Waiting.erase(Waiting.begin() + Index);
  leave(Range.reg());
  Policy.changed(Range.reg());
  return Range;
}

void Allocation::allocate(const LiveInterval &Range) {
  const Choices Legal = choices(Range);
  if (Legal.Colours.empty() && !Legal.CanSpill && evictFor(Range))
    return;
  if (Legal.Colours.empty() && !Legal.CanSpill)
    return recolour(Range);
  switch (legalFate(Range, Legal)) {
  case Fate::Colour: return colour(Range, Legal.Colours);
  case Fate::Split: return split(Range, Legal.Regions);
  case Fate::Spill: return mayPostpone(Range, Legal) ? postpone(Range) : spill(Range);
  }
}

/// A register that costs more than one live range in memory may cost less than several.
bool Allocation::mayPostpone(const LiveInterval &Range, const Choices &Legal) const {
  return !Reconsidered.contains(Range.reg()) && any_of(Legal.Colours, [](const Candidate &Each) { return Each.Saves > 0 && Each.Evicts == 0; });
}

void Allocation::postpone(const LiveInterval &Range) {
  Reconsidered.insert(Range.reg());
  Postponed.push_back(&Range);
}

/// Those that were postponed wait again, once nothing else does; whether there are any.
bool Allocation::resume() {
  if (Postponed.empty())
    return false;
  A.Matrix.invalidateVirtRegs();
  const auto Again = std::exchange(Postponed, {});
  share(Again);
  for (const LiveInterval *Each : Again)
    enqueue(Each->reg());
  return true;
}

/// Live ranges that can have a callee-saved register together, and are dearer in memory than its save, share the cost of that.
void Allocation::share(ArrayRef<const LiveInterval *> Ranges) {
  SmallVector<const LiveInterval *> Left(Ranges);
  sort(Left, [&](const LiveInterval *L, const LiveInterval *R) {
    return std::tuple(-Facts.of(*L).Density, L->reg().virtRegIndex()) < std::tuple(-Facts.of(*R).Density, R->reg().virtRegIndex());
  });
  for (const MCPhysReg *Saved = A.MRI.getCalleeSavedRegs(); *Saved; ++Saved) {
    SmallVector<std::pair<const LiveInterval *, MCPhysReg>> Together;
    SmallVector<MachineBasicBlock *, 16> Blocks;
    double Worth = 0;
    for (const LiveInterval *Each : Left) {
      const auto Order = A.order(Each->reg());
      const auto *Own = find_if(Order, [&](MCPhysReg R) { return A.Classes.getLastCalleeSavedAlias(R) == *Saved; });
      if (Own == Order.end() || A.Matrix.checkInterference(*Each, *Own) != LiveRegMatrix::IK_Free ||
          any_of(Together, [&](const auto &Other) { return Each->overlaps(*Other.first); }))
        continue;
      Together.push_back({Each, *Own});
      Blocks.append(A.blocks(Each->reg()));
      Worth += Facts.of(*Each).SpillCost;
    }
    if (Together.size() < 2 || Worth <= Saves.of(*Saved, Saves.in(Blocks)))
      continue;
    for (const auto &[Each, Own] : Together)
      Shares[Each->reg()] = {Own, Worth - Facts.of(*Each).SpillCost};
    erase_if(Left, [&](const LiveInterval *Each) { return is_contained(make_first_range(Together), Each); });
  }
}

/// What a callee-saved register costs a live range, less what others bring that it is shared with.
double Allocation::saves(const LiveInterval &Range, MCPhysReg Register, CalleeSaves::Price Saved) const {
  const auto [Shared, Others] = Shares.lookup(Range.reg());
  return std::max(Saves.of(Register, Saved) - (Shared == Register ? Others : 0), 0.0);
}

Choices Allocation::choices(const LiveInterval &Range) {
  Choices Legal;
  const ArrayRef<MCPhysReg> Order = A.order(Range.reg());
  SmallVector<MCPhysReg, 16> Hints;
  const bool HasToBeHinted = A.MRI.getTargetRegisterInfo()->getRegAllocationHints(Range.reg(), Order, Hints, A.MF, &A.VRM, &A.Matrix);
  const auto Blocks = A.blocks(Range.reg());
  const CalleeSaves::Price Saved = Saves.in(Blocks);
  const CopyCosts Own = copiesOf(A, Range.reg(), /*OnlyFixed=*/false);
  const auto IsHint = [&](MCPhysReg R) { return is_contained(Order, R); };
  const auto IsOther = [&](MCPhysReg R) { return !HasToBeHinted && !is_contained(Hints, R); };
  const auto Add = [&](auto CostOfEviction) {
    const auto AddOne = [&](MCPhysReg R, bool Hinted) {
      if (const std::optional<double> Evicts = CostOfEviction(R))
        Legal.Colours.push_back({R, Costs[R], saves(Range, R, Saved), *Evicts, copies(Range, Own, R), Hinted});
    };
    for (const MCPhysReg R : make_filter_range(Hints, IsHint))
      AddOne(R, true);
    for (const MCPhysReg R : make_filter_range(Order, IsOther))
      AddOne(R, false);
  };
  Add([&](MCPhysReg R) { return A.Matrix.checkInterference(Range, R) == LiveRegMatrix::IK_Free ? std::optional(0.0) : std::nullopt; });
  Legal.CanSpill = Range.isSpillable();
  Legal.SpillCost = Facts.of(Range).SpillCost;
  const size_t Free = Legal.Colours.size();
  const bool IsAtEase = any_of(Legal.Colours, [](const Candidate &Each) { return Each.isFree(); });
  if (!IsAtEase && Legal.CanSpill)
    Add([&](MCPhysReg R) { return evictionCost(Range, R, Facts.of(Range).SpillCost); });
  if (!IsAtEase && Facts.splits(Range.reg()) < MaxSplits.OfRange && Done.Splits < MaxSplits.OfFunction)
    Legal.Regions = Splits.regions(Range, Saves, ArrayRef(Legal.Colours).take_front(Free),
                                   [&](const LiveInterval &Part, MCPhysReg R, double Worth) { return evictionCost(Part, R, Worth); });
  return Legal;
}

double Allocation::copies(const LiveInterval &Range, const CopyCosts &Own, MCPhysReg Register) const {
  double Cost = 0;
  for (const auto &[Unit, Spared] : Own)
    Cost += Unit == A.unit(Register) ? 0 : Spared;
  const auto Known = Wanting.find(A.unit(Register));
  if (Known == Wanting.end() || Range.empty())
    return Cost;
  const auto Overlaps = [&](const LiveInterval &Other) {
    return !Other.empty() && Other.beginIndex() < Range.endIndex() && Range.beginIndex() < Other.endIndex() && Range.overlaps(Other);
  };
  for (const auto &[Other, Spared] : Known->second)
    if (const LiveInterval &Waits = A.LIS.getInterval(Other);
        Overlaps(Waits) && A.Matrix.checkInterference(Waits, Register) == LiveRegMatrix::IK_Free)
      Cost += Spared;
  return Cost;
}

/// What a live range costs in the cheapest other register that is free for it.
double Allocation::elsewhere(const LiveInterval &Range, MCPhysReg Register) {
  double Least = HUGE_VAL;
  const CalleeSaves::Price Saved = Saves.in(A.blocks(Range.reg()));
  for (const MCPhysReg Other : A.order(Range.reg()))
    if (!A.MRI.getTargetRegisterInfo()->regsOverlap(Other, Register) && A.Matrix.checkInterference(Range, Other) == LiveRegMatrix::IK_Free)
      Least = std::min(Least, Saves.of(Other, Saved));
  return Least;
}

/// What it costs those that have a register to wait again, if they are few and it is below a spill of this one.
std::optional<double> Allocation::evictionCost(const LiveInterval &Range, MCPhysReg Register, double Worth) {
  if (A.Matrix.checkInterference(Range, Register) != LiveRegMatrix::IK_VirtReg)
    return std::nullopt;
  const auto Others = interferers(A, Range, Register, MostEvicted + 1);
  const auto MayBeEvicted = [&](const LiveInterval *Other) {
    return Other->isSpillable() && !Given.contains(Other->reg()) && Evictions.lookup(Other->reg()) < MostEvictions;
  };
  if (Others.size() > MostEvicted || !all_of(Others, MayBeEvicted))
    return std::nullopt;
  double Cost = 0;
  for (const LiveInterval *Other : Others) {
    const double Spilled = std::max<double>(Facts.of(*Other).SpillCost, 0);
    double Least = Spilled > 0 ? std::min(Spilled, elsewhere(*Other, Register)) : 0;
    if (Least > 0)
      Least = std::min(Least, std::max(costAround(A, *Other, Range), 0.0));
    Cost += Least;
    if (Cost >= Worth)
      return std::nullopt;
  }
  return Cost;
}

/// Those that have the register wait again.
void Allocation::assign(const LiveInterval &Range, MCRegister Register) {
  for (const LiveInterval *Other : interferers(A, Range, Register)) {
    A.Matrix.unassign(*Other);
    New.push_back(Other->reg());
    ++Evictions[Other->reg()];
    ++Done.Evictions;
  }
  Saves.use(Register, Range);
  A.Matrix.assign(Range, Register);
}

Fate Allocation::legalFate(const LiveInterval &Range, const Choices &Legal) {
  const Fate Answer = Policy.fate(Range, Legal);
  if (Legal.allow(Answer))
    return Answer;
  ++Done.Illegal;
  return Heuristic.fate(Range, Legal);
}

void Allocation::colour(const LiveInterval &Range, ArrayRef<Candidate> Legal) {
  const size_t Index = legal(Policy.colour(Range, Legal), Legal.size(), [&] { return Heuristic.colour(Range, Legal); });
  assign(Range, Legal[Index].Register);
}

void Allocation::split(const LiveInterval &Range, ArrayRef<Region> Legal) {
  const size_t Index = legal(Policy.region(Range, Legal), Legal.size(), [&] { return Heuristic.region(Range, Legal); });
  const size_t First = New.size();
  Splits.split(Range, Legal[Index], New);
  Facts.noteSplit(Range, ArrayRef(New).drop_front(First));
  ++Done.Splits;
}

/// Loads and stores at the edges of the parts of a live range that is in memory now cost what they did not before.
void Allocation::respill(Register Original) {
  for (const Register Part : Facts.parts(Original)) {
    Facts.forget(Part);
    if (Enqueued.contains(Part))
      requeue(A.LIS.getInterval(Part));
  }
}

void Allocation::spill(const LiveInterval &Range) {
  const Register Original = A.VRM.getOriginal(Range.reg());
  const unsigned Known = A.MRI.getNumVirtRegs();
  LiveRangeEdit Edit(&Range, New, A.MF, A.LIS, &A.VRM, this, &DeadRemats);
  Spill->spill(Edit);
  ++Done.Spills;
  for (const ArrayRef<Register> Gone : {Spill->getSpilledRegs(), Spill->getReplacedRegs()})
    for (const Register R : Gone)
      A.Debug.splitRegister(R, Edit.regs(), A.LIS);
  // What is left at an instruction is as short as can be, though its weight may not say so.
  for (const Register R : Edit)
    if (R.virtRegIndex() >= Known && !Clones.contains(R) && A.LIS.hasInterval(R))
      A.LIS.getInterval(R).markNotSpillable();
  respill(Original);
}

/// Only what is lighter is evicted: the registers' weights grow with each eviction, so that it ends.
bool Allocation::evictFor(const LiveInterval &Range) {
  const auto Heaviest = [](ArrayRef<const LiveInterval *> Others) {
    float Weight = 0;
    for (const LiveInterval *Other : Others)
      Weight = std::max(Weight, Other->isSpillable() ? Other->weight() : huge_valf);
    return Weight;
  };
  MCRegister Best;
  float Least = Range.weight();
  for (const MCPhysReg Register : A.order(Range.reg()))
    if (A.Matrix.checkInterference(Range, Register) == LiveRegMatrix::IK_VirtReg)
      if (const float Weight = Heaviest(interferers(A, Range, Register)); Weight < Least) {
        Least = Weight;
        Best = Register;
      }
  if (Best)
    assign(Range, Best);
  return Best.isValid();
}

void Allocation::recolour(const LiveInterval &Range) {
  ++Done.Recoloured;
  Recolouring Moving(A, New);
  Done.Failed = !Moving.place(Range);
  for (const Register Moved : Moving.moved())
    Policy.changed(Moved);
}

bool Allocation::LRE_CanEraseVirtReg(Register R) {
  Policy.changed(R);
  LiveInterval &Range = A.LIS.getInterval(R);
  if (A.VRM.hasPhys(R)) {
    A.Matrix.unassign(Range);
    return true;
  }
  Range.clear(); // it may wait in the queue
  HasEmptied = true;
  return false;
}

void Allocation::LRE_WillShrinkVirtReg(Register R) {
  const LiveInterval &Range = A.LIS.getInterval(R);
  if (Enqueued.contains(R))
    return requeue(Range);
  if (!A.VRM.hasPhys(R))
    return Facts.forget(R);
  A.Matrix.unassign(Range);
  Facts.forget(R);
  Shrunk.push_back(R);
}

/// Its place in the queue will be another one.
void Allocation::requeue(const LiveInterval &Range) {
  Waiting.erase(find(Waiting, &Range));
  leave(Range.reg());
  Facts.forget(Range.reg());
  Shrunk.push_back(Range.reg());
}

void Allocation::LRE_DidCloneVirtReg(Register Clone, Register Old) {
  Clones.insert(Clone);
  Facts.noteClone(Clone, Old);
}

} // namespace mlcb::rl4real
