// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of costs that come and go.
#pragma once

#include <algorithm>
#include <cmath>

namespace mlcb::rl4real {

/// A sum that is rounded only when it is read: its order does not matter, and what is taken away leaves no trace.
class ExactSum {
public:
  ExactSum() = default;

  explicit ExactSum(float Cost) : Units(static_cast<__int128>(std::ldexp(double(std::clamp(Cost, -Largest, Largest)), FractionBits))) {}

  ExactSum &operator+=(const ExactSum &Other) {
    Units += Other.Units;
    return *this;
  }

  ExactSum &operator-=(const ExactSum &Other) {
    Units -= Other.Units;
    return *this;
  }

  bool operator==(const ExactSum &) const = default;

  double value() const { return std::ldexp(static_cast<double>(Units), -FractionBits); }

private:
  // 15 bits are left for the number of costs. The smallest of them lose digits; the largest are far beyond what is declared.
  static constexpr int FractionBits = 70;
  static constexpr float Largest = 0x1p42F;

  __int128 Units = 0;
};

} // namespace mlcb::rl4real
