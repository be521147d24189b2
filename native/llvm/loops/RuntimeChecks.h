// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks before a loop that what may alias does not.
#pragma once

#include "llvm/loops/Accesses.h"

#include <set>
#include <utility>

namespace llvm {
class Instruction;
class ScalarEvolution;
class SCEVExpander;
class Value;
} // namespace llvm

namespace mlcb::loops {

/// As many pairs of ranges are compared before a loop at most.
constexpr size_t MaxChecks = 16;

/// Ranges of bytes that accesses of a loop touch, one for all that move together at known offsets.
class RangeTable {
public:
  /// A pair of ranges, the smaller index first.
  using Pair = std::pair<unsigned, unsigned>;

  RangeTable(const LoopBody &Body, llvm::ArrayRef<Access> Accesses, llvm::ScalarEvolution &SE);

  /// The check that would settle a conflict; none where no check can.
  std::optional<Pair> pairOf(const Conflict &C) const;

  /// Code before an instruction that is true where any pair of ranges overlaps, and maybe where none does.
  llvm::Value *emitOverlap(const std::set<Pair> &Pairs, llvm::Instruction *Before) const;

private:
  struct Range {
    Access::Affine At;
    int64_t Low, High; // offsets of its ends
    bool MayWrap;      // an address is not used in every iteration
  };

  void add(const Access &A, bool Always);
  std::optional<int64_t> offsetIn(const Range &R, const Access &A) const;
  llvm::Value *emitPair(Pair P, llvm::SCEVExpander &Expander, llvm::Instruction *Before) const;
  const llvm::SCEV *bound(const Range &R, bool Upper) const;

  const LoopBody &Body;
  llvm::ScalarEvolution &SE;
  std::vector<Range> Ranges;
  std::vector<std::optional<unsigned>> RangeOf; // by access
};

} // namespace mlcb::loops
