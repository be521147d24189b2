// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory accesses of a loop: which of them may touch the same bytes, and in which order of iterations.
//
// LLVM's DataDependenceGraph does not serve here: of two accesses that may meet within an iteration and in both orders
// of iterations, it tells the order within the iteration alone, and a loop distributed by that is wrong.
#pragma once

#include "llvm/loops/LoopBody.h"

#include "llvm/Analysis/MemoryLocation.h"

#include <vector>

namespace llvm {
class AAResults;
class SCEV;
class ScalarEvolution;
} // namespace llvm

namespace mlcb::loops {

/// A load, a store, or a call that reads.
struct Access {
  /// An address that moves by a fixed number of bytes in each iteration.
  struct Affine {
    const llvm::SCEV *Start;
    int64_t Step;
  };

  unsigned Index; // in the body
  bool Writes;
  std::optional<llvm::MemoryLocation> Where; // none: anywhere
  std::optional<Affine> At;                  // none: unknown
  int64_t Size = 0;                          // bytes, where At is known
  bool Bounded = false;                      // what it touches in all iterations lies between two addresses known before the loop
};

/// Two accesses that may touch the same byte, one of them writing.
struct Conflict {
  unsigned First, Second;          // accesses; the first comes first in an iteration
  bool Forward;                    // the first may touch it before the second does
  bool Backward;                   // and the other way round, in a later iteration
  bool Checkable;                  // whether it is there at all can be seen before the loop runs
  std::optional<int64_t> Distance; // iterations from one to the other, where that is always the same
};

constexpr size_t MaxAccesses = 128;

/// The accesses of a loop, compared pair by pair.
class AccessTable {
public:
  static tl::expected<AccessTable, Refusal> read(const LoopBody &Body, llvm::ScalarEvolution &SE, llvm::AAResults &AA);

  llvm::ArrayRef<Access> accesses() const { return Accesses; }
  llvm::ArrayRef<Conflict> conflicts() const { return Conflicts; }

private:
  std::vector<Access> Accesses;
  std::vector<Conflict> Conflicts;
};

} // namespace mlcb::loops
