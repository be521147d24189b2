// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/FittingBlocks.h"

#include "llvm/tasks/regalloc/rl4real/AccessCosts.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

static constexpr size_t MostLive = 128;
static constexpr unsigned Sweeps = 8;

bool isFree(const Analyses &A, MCPhysReg Register, SlotIndex First, SlotIndex Last, const MachineBasicBlock &Block) {
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

SmallVector<MachineBasicBlock *, 16> liveBlocks(const Analyses &A, const LiveInterval &Range) {
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
  return Live;
}

namespace {

/// A live range in the blocks that it is live in; copies on their edges cost what a load and a store do.
class Placement {
public:
  Placement(const Analyses &A, const LiveInterval &Range, ArrayRef<MachineBasicBlock *> Live);

  /// The places of the blocks where a register is free.
  SmallBitVector freeFor(MCPhysReg Register) const;

  /// The choice that is left when no block would change alone, begun with this one, of those where the register is free.
  SmallBitVector settled(SmallBitVector Chosen, const SmallBitVector &Free) const;

  SmallVector<MachineBasicBlock *, 16> blocks(const SmallBitVector &Chosen) const;

private:
  struct Edge {
    size_t Other;
    double IfOther, IfThis; // its cost where only the other one, or only this one, has the register
  };
  struct Place {
    MachineBasicBlock *Block;
    SmallVector<LiveRange::Segment, 2> Segments;
    double InMemory = 0; // cost of its uses
    SmallVector<Edge, 4> Edges;
  };

  /// What it spares to have the register here too.
  double gain(const Place &At, const SmallBitVector &Chosen) const {
    double Gain = At.InMemory;
    for (const Edge &Each : At.Edges)
      Gain += Chosen[Each.Other] ? Each.IfOther : -Each.IfThis;
    return Gain;
  }

  const Analyses &A;
  SmallVector<Place, 16> Places;
};

Placement::Placement(const Analyses &A, const LiveInterval &Range, ArrayRef<MachineBasicBlock *> Live) : A(A) {
  SmallDenseMap<const MachineBasicBlock *, size_t, 16> Known;
  for (MachineBasicBlock *Block : Live) {
    Known[Block] = Places.size();
    Place &At = Places.emplace_back();
    At.Block = Block;
    const SlotIndex From = A.LIS.getMBBStartIdx(Block), To = A.LIS.getMBBEndIdx(Block);
    for (const auto *Segment = Range.find(From); Segment != Range.end() && Segment->start < To; ++Segment)
      At.Segments.push_back({std::max(Segment->start, From), std::min(Segment->end, To), Segment->valno});
  }
  if (Places.empty())
    return;
  const AccessCosts Costs = accessCosts(A, Range);
  bool IsWritten = false;
  for (MachineInstr *MI : A.instructions(Range.reg())) {
    const auto ReadsWrites = MI->readsWritesVirtualRegister(Range.reg());
    IsWritten |= ReadsWrites.second;
    if (const auto Found = Known.find(MI->getParent()); Found != Known.end())
      Places[Found->second].InMemory += Costs.of(ReadsWrites, A.frequency(*MI->getParent()));
  }
  const double Store = IsWritten ? std::max(Costs.Write, 0.0) : 0;
  for (auto [Index, At] : enumerate(Places))
    for (const MachineBasicBlock *Next : At.Block->successors())
      if (const auto Found = Known.find(Next); Found != Known.end() && A.LIS.isLiveInToMBB(Range, Next)) {
        const double Times = std::min(A.frequency(*At.Block), A.frequency(*Next));
        At.Edges.push_back({Found->second, Times * Costs.Read, Times * Store});
        Places[Found->second].Edges.push_back({Index, Times * Store, Times * Costs.Read});
      }
}

SmallBitVector Placement::freeFor(MCPhysReg Register) const {
  SmallBitVector Free(Places.size());
  for (const auto &[Index, At] : enumerate(Places))
    if (all_of(At.Segments, [&](const LiveRange::Segment &Each) { return isFree(A, Register, Each.start, Each.end.getPrevSlot(), *At.Block); }))
      Free.set(Index);
  return Free;
}

SmallBitVector Placement::settled(SmallBitVector Chosen, const SmallBitVector &Free) const {
  bool Changes = true;
  for (unsigned Sweep = 0; Changes && Sweep < Sweeps; ++Sweep) {
    Changes = false;
    for (const unsigned Index : Free.set_bits())
      if (const bool Pays = gain(Places[Index], Chosen) > 0; Pays != Chosen[Index]) {
        Chosen[Index] = Pays;
        Changes = true;
      }
  }
  return Chosen;
}

SmallVector<MachineBasicBlock *, 16> Placement::blocks(const SmallBitVector &Chosen) const {
  SmallVector<MachineBasicBlock *, 16> Found;
  for (const unsigned Index : Chosen.set_bits())
    Found.push_back(Places[Index].Block);
  return Found;
}

} // namespace

SmallVector<SmallVector<MachineBasicBlock *, 16>, 4> fittingBlocks(const Analyses &A, const LiveInterval &Range, ArrayRef<MachineBasicBlock *> Live) {
  const Placement Placed(A, Range, Live);
  SmallVector<SmallBitVector, 8> Seen, Found;
  for (const MCPhysReg Register : A.order(Range.reg())) {
    const SmallBitVector Free = Placed.freeFor(Register);
    if (Free.none() || is_contained(Seen, Free))
      continue;
    Seen.push_back(Free);
    for (const SmallBitVector &Start : {Free, SmallBitVector(Free.size())})
      if (const SmallBitVector Chosen = Placed.settled(Start, Free); Chosen.any() && !is_contained(Found, Chosen))
        Found.push_back(Chosen);
  }
  return map_to_vector<4>(Found, [&](const SmallBitVector &Chosen) { return Placed.blocks(Chosen); });
}

} // namespace mlcb::rl4real
