// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fixed partitions of loops, as an option names them.
#pragma once

#include "llvm/loops/DependenceGraph.h"

#include "llvm/Support/Error.h"

namespace mlcb::loops {

/// A rule that gives every loop its partition, the same in each run.
class FixedAnswer {
public:
  /// Reads `never`, `always` (each node apart), `cuts=MASK` (bit k: node k and the next one apart, as 5 or 0b101), or
  /// `random=SEED` (any order that is right, and any cuts).
  static llvm::Expected<FixedAnswer> parse(llvm::StringRef Text);

  /// The partition of the Nth loop of its function.
  Partition operator()(const DependenceGraph &G, unsigned Nth) const;

private:
  Partition cutAlong(const DependenceGraph &G) const;
  Partition draw(const DependenceGraph &G, unsigned Nth) const;

  enum class Kind { Cuts, Random };
  FixedAnswer(Kind How, uint64_t Value) : How(How), Value(Value) {}

  Kind How;
  uint64_t Value; // the mask, or the seed
};

} // namespace mlcb::loops
