// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/FittingBlocks.h"

#include "llvm/tasks/regalloc/rl4real/MinimumCut.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

static constexpr size_t MostLive = 128;
static constexpr double Impossible = 1e12;

bool isFree(const Analyses &A, MCPhysReg Register, SlotIndex From, SlotIndex To, const MachineBasicBlock &Block) {
  const TargetRegisterInfo &Target = *A.MRI.getTargetRegisterInfo();
  const ArrayRef<SlotIndex> Calls = A.LIS.getRegMaskSlotsInBlock(Block.getNumber());
  const ArrayRef<const uint32_t *> Masks = A.LIS.getRegMaskBitsInBlock(Block.getNumber());
  for (size_t Call = lower_bound(Calls, From) - Calls.begin(); Call < Calls.size() && Calls[Call] < To; ++Call)
    if (MachineOperand::clobbersPhysReg(Masks[Call], Register))
      return false;
  return !A.Matrix.checkInterference(From, To, Register) &&
         none_of(Target.regunits(Register), [&](MCRegUnit Unit) { return A.LIS.getRegUnit(Unit).overlaps(From, To); });
}

Blocks liveBlocks(const Analyses &A, const LiveInterval &Range) {
  Blocks Live;
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

/// Whether there is room for a copy at the end of one block, or at the start of the next (Splitting).
static bool mayHoldCopy(const MachineBasicBlock &From, const MachineBasicBlock &To) {
  return !To.isEHPad() && !To.isInlineAsmBrIndirectTarget() && (!From.hasEHPadSuccessor() || To.pred_size() == 1);
}

namespace {

/// A live range in the blocks that it is live in; copies on their edges cost what a load and a store do.
class Placement {
public:
  Placement(const Analyses &A, const LiveInterval &Range, const Accesses &Uses, ArrayRef<MachineBasicBlock *> Live);

  /// The places of the blocks where a register is free.
  SmallBitVector freeFor(MCPhysReg Register) const;

  /// Those where the live range spares most by having the register, of those where it is free.
  SmallBitVector best(const SmallBitVector &Free) const;

  Blocks blocks(const SmallBitVector &Chosen) const;

private:
  struct Edge {
    size_t To;
    double Times;
    double Fixed; // what any copy on it costs besides
  };
  struct Place {
    MachineBasicBlock *Block;
    SmallVector<LiveRange::Segment, 2> Segments;
    double InMemory = 0;        // cost of its uses
    SmallVector<Edge, 2> Edges; // to others of the places
  };

  const Analyses &A;
  SmallVector<Place, 16> Places;
  SmallBitVector Written;
  double Enter, Leave;
};

Placement::Placement(const Analyses &A, const LiveInterval &Range, const Accesses &Uses, ArrayRef<MachineBasicBlock *> Live)
    : A(A), Written(Live.size()), Enter(Uses.Enter), Leave(Uses.Leave) {
  SmallDenseMap<const MachineBasicBlock *, size_t, 16> Known;
  for (MachineBasicBlock *Block : Live) {
    Known[Block] = Places.size();
    Place &At = Places.emplace_back();
    At.Block = Block;
    const SlotIndex From = A.LIS.getMBBStartIdx(Block), To = A.LIS.getMBBEndIdx(Block);
    for (const auto *Segment = Range.find(From); Segment != Range.end() && Segment->start < To; ++Segment)
      if (const SlotIndex Start = std::max(Segment->start, From), End = std::min(Segment->end, To);
          !At.Segments.empty() && At.Segments.back().end == Start)
        At.Segments.back().end = End;
      else
        At.Segments.push_back({Start, End, Segment->valno});
  }
  for (const Access &Each : Uses.All)
    if (const auto Found = Known.find(Each.block()); Found != Known.end()) {
      Places[Found->second].InMemory += Each.Cost;
      Written[Found->second] = Written[Found->second] || Each.IsWrite;
    }
  for (Place &At : Places)
    for (const MachineBasicBlock *Next : At.Block->successors())
      if (const auto Found = Known.find(Next); Found != Known.end() && Next != At.Block && A.LIS.isLiveInToMBB(Range, Next))
        At.Edges.push_back({Found->second, std::min(A.frequency(*At.Block), A.frequency(*Next)), mayHoldCopy(*At.Block, *Next) ? 0 : Impossible});
}

SmallBitVector Placement::freeFor(MCPhysReg Register) const {
  SmallBitVector Free(Places.size());
  for (const auto &[Index, At] : enumerate(Places))
    if (all_of(At.Segments, [&](const LiveRange::Segment &Each) { return isFree(A, Register, Each.start, Each.end, *At.Block); }))
      Free.set(Index);
  return Free;
}

/// A minimum cut: on the side of the source it has the register, on that of the sink it is in memory, as wherever the register is taken. To leave the
/// register costs a store, if the value may be another one.
SmallBitVector Placement::best(const SmallBitVector &Free) const {
  const double Store = Written.anyCommon(Free) ? Leave : 0;
  const size_t Source = Places.size(), Sink = Source + 1;
  const auto Node = [&](size_t Index) { return Free[Index] ? Index : Sink; };
  MinimumCut Parts(Places.size() + 2);
  for (const auto &[Index, At] : enumerate(Places)) {
    Parts.join(Source, Node(Index), std::max(At.InMemory, 0.0));
    Parts.join(Node(Index), Sink, std::max(-At.InMemory, 0.0));
    for (const Edge &Each : At.Edges)
      Parts.join(Node(Index), Node(Each.To), Each.Times * Store + Each.Fixed, Each.Times * Enter + Each.Fixed);
  }
  SmallBitVector Chosen = Parts.cut(Source, Sink);
  Chosen.resize(Places.size());
  return Chosen;
}

Blocks Placement::blocks(const SmallBitVector &Chosen) const {
  Blocks Found;
  for (const unsigned Index : Chosen.set_bits())
    Found.push_back(Places[Index].Block);
  return Found;
}

} // namespace

SmallVector<Blocks, 4> fittingBlocks(const Analyses &A, const LiveInterval &Range, const Accesses &Uses, const Blocks &Live) {
  const Placement Placed(A, Range, Uses, Live);
  SmallVector<SmallBitVector, 8> Seen, Found;
  for (const MCPhysReg Register : A.order(Range.reg())) {
    const SmallBitVector Free = Placed.freeFor(Register);
    if (Free.none() || is_contained(Seen, Free))
      continue;
    Seen.push_back(Free);
    if (const SmallBitVector Chosen = Placed.best(Free); Chosen.any() && !is_contained(Found, Chosen))
      Found.push_back(Chosen);
  }
  return map_to_vector<4>(Found, [&](const SmallBitVector &Chosen) { return Placed.blocks(Chosen); });
}

} // namespace mlcb::rl4real
