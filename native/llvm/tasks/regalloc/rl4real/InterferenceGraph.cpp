// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/InterferenceGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

static constexpr unsigned LeastLength = 16, MostStretches = 1024; // instructions of a stretch; a live range may be in all of them

RangeSums &RangeSums::operator+=(const RangeSums &Other) {
  Ranges += Other.Ranges;
  Waiting += Other.Waiting;
  Density += Other.Density;
  SpillCost += Other.SpillCost;
  return *this;
}

RangeSums &RangeSums::operator-=(const RangeSums &Other) {
  Ranges -= Other.Ranges;
  Waiting -= Other.Waiting;
  Density -= Other.Density;
  SpillCost -= Other.SpillCost;
  return *this;
}

InterferenceGraph::InterferenceGraph(const Analyses &A, FactsOfFunction &Facts) : A(A), Facts(Facts) {
  SlotIndexes &Slots = *A.LIS.getSlotIndexes();
  const SlotIndex First = Slots.getZeroIndex(), Last = Slots.getLastIndex();
  const unsigned Length = std::max<unsigned>(LeastLength, First.getApproxInstrDistance(Last) / MostStretches);
  unsigned Number = 0;
  for (SlotIndex At = First; At < Last; At = At.getNextIndex())
    if (Number++ % Length == 0)
      Stretches.push_back({At, {}, {}});
}

InterferenceGraph::Stretch *InterferenceGraph::stretchOf(SlotIndex At) {
  return std::prev(upper_bound(Stretches, At, [](SlotIndex L, const Stretch &R) { return L < R.From; }));
}

void InterferenceGraph::update(ArrayRef<Register> Changed) {
  for (const Register R : Changed)
    if (const auto Known = Numbers.find(R); Known != Numbers.end())
      recount(Nodes[Known->second]);
  for (const Register R : Changed)
    if (A.LIS.hasInterval(R) && !A.VRM.hasPhys(R) && !Numbers.contains(R))
      add(R);
}

/// One that was split keeps its interval, and has no instruction.
RangeSums InterferenceGraph::alone(Register R) const {
  RangeSums Own;
  if (!A.LIS.hasInterval(R) || A.LIS.getInterval(R).empty() || A.MRI.reg_nodbg_empty(R))
    return Own;
  Own.Ranges = 1;
  if (A.VRM.hasPhys(R))
    return Own;
  const LiveRangeFacts &Known = Facts.of(A.LIS.getInterval(R));
  Own.Waiting = 1;
  Own.Density = ExactSum(Known.Density);
  Own.SpillCost = ExactSum(Known.SpillCost);
  return Own;
}

/// What is gone does not come back.
void InterferenceGraph::recount(Node &Of) {
  const RangeSums Before = std::exchange(Of.Counted, alone(Of.R));
  if (Of.Counted == Before)
    return;
  erase_if(Of.Neighbours, [&](unsigned Other) {
    if (!Nodes[Other].Counted.Ranges)
      return true;
    (Around[Other] += Of.Counted) -= Before;
    return false;
  });
  if (!Of.Counted.Ranges)
    Of.Neighbours = {};
}

void InterferenceGraph::add(Register R) {
  const unsigned New = Nodes.size();
  Numbers[R] = New;
  Around.emplace_back();
  Nodes.push_back({R, &A.LIS.getInterval(R), alone(R), New, {}});
  if (!Nodes[New].Counted.Ranges)
    return;
  for (const LiveRange::Segment &Segment : *Nodes[New].Range) {
    Stretch *Within = stretchOf(Segment.start);
    linkAll(New, Segment, Within->LiveIn);
    for (; Within != Stretches.end() && Within->From < Segment.end; ++Within)
      linkAll(New, Segment, Within->Beginning);
  }
  for (const LiveRange::Segment &Segment : *Nodes[New].Range)
    enter(New, Segment);
}

void InterferenceGraph::linkAll(unsigned New, const LiveRange::Segment &Segment, SmallVectorImpl<unsigned> &Others) {
  erase_if(Others, [&](unsigned Number) {
    Node &Other = Nodes[Number];
    if (!Other.Counted.Ranges)
      return true;
    if (Other.LastLinked != New && Other.Range->overlaps(Segment.start, Segment.end) && mayShare(Nodes[New].R, Other.R)) {
      Other.LastLinked = New;
      Other.Neighbours.push_back(New);
      Nodes[New].Neighbours.push_back(Number);
      Around[Number] += Nodes[New].Counted;
      Around[New] += Other.Counted;
    }
    return false;
  });
}

void InterferenceGraph::enter(unsigned New, const LiveRange::Segment &Segment) {
  Stretch *Within = stretchOf(Segment.start);
  Within->Beginning.push_back(New);
  for (++Within; Within != Stretches.end() && Within->From < Segment.end; ++Within)
    Within->LiveIn.push_back(New);
}

SmallVector<Register, 8> InterferenceGraph::waitingAround(Register R) const {
  SmallVector<Register, 8> Found;
  for (const unsigned Other : Nodes[Numbers.at(R)].Neighbours)
    if (Nodes[Other].Counted.Waiting)
      Found.push_back(Nodes[Other].R);
  return Found;
}

/// Whether a register that one may have overlaps one that the other may have.
bool InterferenceGraph::mayShare(Register One, Register Other) {
  const auto [Known, IsNew] = Overlaps.try_emplace({A.MRI.getRegClass(One), A.MRI.getRegClass(Other)});
  if (IsNew) {
    const TargetRegisterInfo &Target = *A.MRI.getTargetRegisterInfo();
    Known->second = any_of(A.order(One), [&](MCPhysReg L) { return any_of(A.order(Other), [&](MCPhysReg R) { return Target.regsOverlap(L, R); }); });
  }
  return Known->second;
}

} // namespace mlcb::rl4real
