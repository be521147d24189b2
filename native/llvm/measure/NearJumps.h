// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which functions of a section lie so near to each other that a jump between them may be short.
#pragma once

#include "llvm/measure/FunctionCode.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlcb::measure {

/// One function of a section, with the place in that section that each of its far jumps leads to; none for another section.
struct PlacedCode {
  const FunctionCode *Code;
  llvm::SmallVector<std::optional<size_t>, 2> Targets;
};

struct Run {
  size_t Length;
  bool HasNearJump; // some jump in it may be short: only its own layout tells
};

/// Cuts a section into runs of functions between which every jump is long for certain, in order.
llvm::SmallVector<Run, 0> independentRuns(llvm::ArrayRef<PlacedCode> Section);

} // namespace mlcb::measure
