// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether two addresses that move by fixed steps can come upon the same byte. Integers alone, without LLVM.
#pragma once

#include <cstdint>
#include <optional>

namespace mlcb::loops {

/// Which of two accesses is in the earlier iteration.
enum class Order { FirstEarlier, Same, SecondEarlier };

/// With steps so small, no loop runs long enough for an address to come round to where it was.
constexpr unsigned MaxStepBits = 20;

/// The second address minus the first, in bytes, over the iterations of a loop.
struct ByteDistance {
  struct Interval {
    int64_t Low, High; // both included
  };

  Interval Start; // in iteration 0 of both
  int64_t StepFirst, StepSecond;
  int64_t SizeFirst, SizeSecond;         // bytes accessed from the address on
  std::optional<uint64_t> LastIteration; // none: unknown

  /// Whether they may touch the same byte in two iterations of this order. A no is certain.
  bool mayMeet(Order Which) const;

  /// Iterations between two that touch the same bytes, where that number is always the same.
  std::optional<int64_t> iterations() const;
};

} // namespace mlcb::loops
