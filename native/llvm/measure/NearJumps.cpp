// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/NearJumps.h"

namespace mlcb::measure {

// Of a displacement in one byte, counted from the end of the jump.
static constexpr unsigned Forward = 127, Backward = 128;

/// Least bytes of the functions in [First, Last), counted no further than matters.
static unsigned leastBytes(llvm::ArrayRef<PlacedCode> Section, size_t First, size_t Last) {
  unsigned Bytes = 0;
  for (size_t I = First; I < Last && Bytes <= Backward; ++I)
    Bytes += Section[I].Code->MinText;
  return Bytes;
}

static bool mayBeShort(llvm::ArrayRef<PlacedCode> Section, size_t From, size_t To, FarJump Jump) {
  if (To > From)
    return Jump.MinAfter + leastBytes(Section, From + 1, To) <= Forward;
  return Jump.MinBefore + leastBytes(Section, To, From) <= Backward;
}

llvm::SmallVector<Run, 0> independentRuns(llvm::ArrayRef<PlacedCode> Section) {
  llvm::SmallVector<bool, 0> HasNear(Section.size()), JoinsNext(Section.size());
  for (size_t From = 0; From < Section.size(); ++From)
    for (size_t J = 0; J < Section[From].Code->NumFarJumps; ++J) {
      auto To = Section[From].Targets[J];
      if (!To || !mayBeShort(Section, From, *To, Section[From].Code->FarJumps[J]))
        continue;
      HasNear[From] = true;
      std::fill(JoinsNext.begin() + std::min(From, *To), JoinsNext.begin() + std::max(From, *To), true);
    }
  llvm::SmallVector<Run, 0> Runs;
  for (size_t I = 0; I < Section.size(); ++I) {
    if (I == 0 || !JoinsNext[I - 1])
      Runs.push_back({0, false});
    ++Runs.back().Length;
    Runs.back().HasNearJump |= HasNear[I];
  }
  return Runs;
}

} // namespace mlcb::measure
