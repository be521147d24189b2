// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/InterferenceGraph.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

void InterferenceGraph::add(ArrayRef<const LiveInterval *> Ranges) {
  SmallVector<Part, 0> Parts;
  DenseSet<Register> New;
  for (const LiveInterval *Range : Ranges)
    if (Edges.try_emplace(Range->reg()).second)
      New.insert(Range->reg());
  if (New.empty())
    return;
  for (const auto &[R, Unused] : Edges)
    if (A.LIS.hasInterval(R))
      for (const LiveRange::Segment &Segment : A.LIS.getInterval(R))
        Parts.push_back({Segment.start, Segment.end, R});
  sort(Parts, [](const Part &L, const Part &R) { return std::tuple(L.Start, L.R.id()) < std::tuple(R.Start, R.R.id()); });
  SmallVector<Part, 32> Live;
  DenseSet<std::pair<Register, Register>> Known;
  for (const Part &Next : Parts) {
    erase_if(Live, [&](const Part &Other) { return Other.End <= Next.Start; });
    for (const Part &Other : Live)
      if (Other.R != Next.R && (New.contains(Next.R) || New.contains(Other.R)) && mayShare(Next.R, Other.R) &&
          Known.insert(std::minmax(Next.R, Other.R)).second) {
        Edges[Next.R].push_back(Other.R);
        Edges[Other.R].push_back(Next.R);
      }
    Live.push_back(Next);
  }
}

InterferenceGraph::Neighbours InterferenceGraph::neighbours(Register R) const {
  Neighbours Found;
  if (const auto Known = Edges.find(R); Known != Edges.end())
    copy_if(Known->second, std::back_inserter(Found), [&](Register Other) { return A.LIS.hasInterval(Other) && !A.LIS.getInterval(Other).empty(); });
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
