// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A partition in the making: node after node, none before those that must precede it, so that whatever comes of it is
// right.
#pragma once

#include "llvm/loops/DependenceGraph.h"

namespace mlcb::loops {

class Placement {
public:
  explicit Placement(const DependenceGraph &G) : G(G), PartOf(G.nodes().size(), Unplaced) {}

  bool isDone() const { return Placed == PartOf.size(); }

  /// The nodes that may be placed next, in their order; at least one until it is done.
  llvm::SmallVector<unsigned> ready() const;

  /// Places one of them, in a new part or in the last one.
  void place(unsigned Node, bool Apart);

  /// The part of each node, or Unplaced.
  static constexpr int64_t Unplaced = -1;
  llvm::ArrayRef<int64_t> parts() const { return PartOf; }

  /// The node that was placed last, or Unplaced.
  int64_t last() const { return Last; }
  unsigned placed() const { return Placed; }

  /// Once it is done.
  Partition partition() const { return {PartOf.begin(), PartOf.end()}; }

private:
  const DependenceGraph &G;
  llvm::SmallVector<int64_t> PartOf;
  int64_t Last = Unplaced;
  unsigned Placed = 0;
};

} // namespace mlcb::loops
