// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Contention.h"

#include "llvm/tasks/regalloc/LiveRanges.h"

#include "llvm/CodeGen/TargetRegisterInfo.h"

using namespace llvm;

namespace mlcb::rl4real {

Contention::Contention(const Analyses &A) : A(A) {
  for (unsigned I = 0, E = A.MRI.getNumVirtRegs(); I != E; ++I)
    if (const Register R = Register::index2VirtReg(I); !A.MRI.reg_nodbg_empty(R) && A.LIS.hasInterval(R) && !A.order(R).empty())
      add(A.LIS.getInterval(R));
  for (auto &[Unused, Of] : Banks)
    sumUp(Of);
}

void Contention::add(const LiveInterval &Range) {
  Bank &Own = Banks[bankOf(Range.reg())];
  const size_t Size = placeOf(A.LIS.getSlotIndexes()->getLastIndex()) + 2;
  Own.All.resize(Size);
  Own.Across.resize(Size);
  const ArrayRef<MCPhysReg> Order = A.order(Range.reg());
  const auto IsSaved = [this](MCPhysReg R) { return A.Classes.getLastCalleeSavedAlias(R).isValid(); };
  Own.Registers = std::max(Own.Registers, Order.size());
  Own.Saved = std::max<size_t>(Own.Saved, count_if(Order, IsSaved));
  const bool LivesAcross = callsAcross(Range, A.LIS) > 0;
  for (const LiveRange::Segment &Segment : Range)
    for (Profile *Each : {&Own.All, &Own.Across})
      if (LivesAcross || Each == &Own.All) {
        ++(*Each)[placeOf(Segment.start)];
        --(*Each)[placeOf(Segment.end)];
      }
}

void Contention::sumUp(Bank &Of) {
  size_t Live = 0, LiveAcross = 0;
  int Contested = 0, ContestedAcross = 0;
  for (auto [All, Across] : zip(Of.All, Of.Across)) {
    Live += All;
    LiveAcross += Across;
    All = Contested;
    Across = ContestedAcross;
    Contested += Live > Of.Registers;
    ContestedAcross += Live > Of.Registers || LiveAcross > Of.Saved;
  }
}

unsigned Contention::of(const LiveInterval &Range) const {
  const auto Own = A.order(Range.reg()).empty() ? Banks.end() : Banks.find(bankOf(Range.reg()));
  if (Own == Banks.end())
    return 0;
  const Profile &Contested = callsAcross(Range, A.LIS) > 0 ? Own->second.Across : Own->second.All;
  const auto Before = [&](SlotIndex At) { return Contested[std::min(placeOf(At), Contested.size() - 1)]; };
  unsigned Sum = 0;
  for (const LiveRange::Segment &Segment : Range)
    Sum += Before(Segment.end) - Before(Segment.start);
  return Sum;
}

/// A number that is the same for the classes of registers of which one is within the other.
unsigned Contention::bankOf(Register R) const { return static_cast<unsigned>(*A.MRI.getTargetRegisterInfo()->regunits(A.order(R).front()).begin()); }

/// As instructions were numbered before the allocation; those that were inserted since count little.
size_t Contention::placeOf(SlotIndex At) const { return A.LIS.getSlotIndexes()->getZeroIndex().distance(At) / SlotIndex::InstrDist; }

} // namespace mlcb::rl4real
