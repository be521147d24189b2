// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When a wait ends.
#pragma once

#include <chrono>

namespace mlcb {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline constexpr Deadline Never = Deadline::max();

/// The deadline in so many seconds; more than ten years, or what is no number, is Never.
inline Deadline after(double Seconds) {
  constexpr double TenYears = 10 * 365.25 * 24 * 3600;
  if (!(Seconds < TenYears))
    return Never;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(Seconds));
}

} // namespace mlcb
