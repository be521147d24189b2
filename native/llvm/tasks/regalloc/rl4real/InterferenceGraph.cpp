// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/InterferenceGraph.h"

#include "llvm/CodeGen/TargetRegisterInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

/// The edges among those that are known are known: only what is new is compared.
void InterferenceGraph::add(ArrayRef<const LiveInterval *> Ranges) {
  DenseSet<Register> New;
  for (const LiveInterval *Range : Ranges)
    if (Edges.try_emplace(Range->reg()).second)
      New.insert(Range->reg());
  DenseSet<std::pair<Register, Register>> Known;
  Parts LiveKnown, LiveNew;
  for (const Part &Next : partsBeside(New)) {
    const auto LinkAll = [&](Parts &Live) {
      erase_if(Live, [&](const Part &Other) { return Other.End <= Next.Start; });
      for (const Part &Other : Live)
        if (Other.R != Next.R && mayShare(Next.R, Other.R) && Known.insert(std::minmax(Next.R, Other.R)).second) {
          Edges[Next.R].push_back(Other.R);
          Edges[Other.R].push_back(Next.R);
        }
    };
    LinkAll(LiveNew);
    if (Next.IsNew)
      LinkAll(LiveKnown);
    (Next.IsNew ? LiveNew : LiveKnown).push_back(Next);
  }
}

/// The segments of new live ranges, and those of others from the first of these to the last one, in the order of their starts.
InterferenceGraph::Parts InterferenceGraph::partsBeside(const DenseSet<Register> &New) const {
  SlotIndex First, Last;
  for (const Register R : New)
    if (const LiveInterval &Range = A.LIS.getInterval(R); !Range.empty()) {
      First = First.isValid() ? std::min(First, Range.beginIndex()) : Range.beginIndex();
      Last = Last.isValid() ? std::max(Last, Range.endIndex()) : Range.endIndex();
    }
  Parts Found;
  if (!First.isValid())
    return Found;
  for (const auto &[R, Unused] : Edges)
    if (isThere(R))
      for (const LiveRange::Segment &Segment : A.LIS.getInterval(R))
        if (Segment.end > First && Segment.start < Last)
          Found.push_back({Segment.start, Segment.end, R, New.contains(R)});
  sort(Found, [](const Part &L, const Part &R) { return std::tuple(L.Start, L.R.id()) < std::tuple(R.Start, R.R.id()); });
  return Found;
}

/// One that was split keeps its interval, and has no instruction.
bool InterferenceGraph::isThere(Register R) const { return A.LIS.hasInterval(R) && !A.LIS.getInterval(R).empty() && !A.MRI.reg_nodbg_empty(R); }

InterferenceGraph::Neighbours InterferenceGraph::neighbours(Register R) const {
  Neighbours Found;
  if (const auto Known = Edges.find(R); Known != Edges.end())
    copy_if(Known->second, std::back_inserter(Found), [this](Register Other) { return isThere(Other); });
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
