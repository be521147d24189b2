// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What observations of a live range have in common.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/LiveIntervals.h"

namespace mlcb {

/// The calls that a live range is live across.
inline int64_t callsAcross(const llvm::LiveInterval &Range, const llvm::LiveIntervals &Intervals) {
  const llvm::ArrayRef<llvm::SlotIndex> Calls = Intervals.getRegMaskSlots();
  int64_t Count = 0;
  for (const llvm::LiveRange::Segment &Segment : Range)
    Count += llvm::lower_bound(Calls, Segment.end) - llvm::upper_bound(Calls, Segment.start);
  return Count;
}

} // namespace mlcb
