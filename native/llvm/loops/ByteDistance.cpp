// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/ByteDistance.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

namespace mlcb::loops {

namespace {

using Wide = __int128; // a step times an iteration

struct WideInterval {
  Wide Low, High;
};

/// Two iterations, that of the first access and that of the second.
struct Pair {
  Wide First, Second;
};

/// All pairs of an order lie in the triangle (or on the line) between these.
std::array<Pair, 3> corners(Order Which, Wide Last) {
  if (Which == Order::FirstEarlier)
    return {{{0, 1}, {0, Last}, {Last - 1, Last}}};
  if (Which == Order::SecondEarlier)
    return {{{1, 0}, {Last, 0}, {Last, Last - 1}}};
  return {{{0, 0}, {0, 0}, {Last, Last}}};
}

/// The largest multiple of a step (0: only 0) that is not above a bound.
Wide lastMultiple(Wide Bound, Wide Step) {
  if (Step == 0)
    return 0;
  const Wide Remainder = Bound % Step;
  return Bound - (Remainder < 0 ? Remainder + Step : Remainder);
}

bool containsMultiple(WideInterval In, Wide Step) {
  const Wide Candidate = lastMultiple(In.High, Step);
  return In.Low <= Candidate && Candidate <= In.High;
}

} // namespace

bool ByteDistance::mayMeet(Order Which) const {
  const Wide Last = LastIteration ? static_cast<Wide>(*LastIteration) : Wide{1} << 62;
  if (Last == 0 && Which != Order::Same)
    return false;
  // How far they have moved apart is linear in both iterations, so it is least and most at corners ...
  std::array<Wide, 3> Moved;
  std::ranges::transform(corners(Which, Last), Moved.begin(), [&](Pair P) { return StepSecond * P.Second - StepFirst * P.First; });
  const auto [Least, Most] = std::ranges::minmax(Moved);
  // ... and a multiple of what both steps are multiples of, or of the difference of the steps within an iteration.
  const Wide Step = Which == Order::Same ? std::abs(StepSecond - StepFirst) : std::gcd(StepFirst, StepSecond);
  const WideInterval Meeting{-Wide{SizeSecond} - Start.High + 1, Wide{SizeFirst} - Start.Low - 1};
  return containsMultiple({std::max(Least, Meeting.Low), std::min(Most, Meeting.High)}, Step);
}

std::optional<int64_t> ByteDistance::iterations() const {
  if (Start.Low != Start.High || StepFirst != StepSecond || StepFirst == 0 || SizeFirst != SizeSecond || Start.Low % StepFirst != 0)
    return std::nullopt;
  return std::abs(Start.Low / StepFirst);
}

} // namespace mlcb::loops
