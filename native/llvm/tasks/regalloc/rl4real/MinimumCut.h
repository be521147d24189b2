// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cheapest way to part a network in two.
#pragma once

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"

#include <cstddef>

namespace mlcb::rl4real {

/// Nodes, and arcs that cost their capacity where they lead from the side of the source to that of the sink (Dinic's algorithm).
class MinimumCut {
public:
  explicit MinimumCut(size_t Nodes) : From(Nodes) {}

  /// An arc, and one back.
  void join(size_t One, size_t Other, double Capacity, double Back = 0);

  /// The nodes on the side of the source, in a cut of the least cost; of several the smallest.
  llvm::SmallBitVector cut(size_t Source, size_t Sink);

private:
  struct Arc {
    size_t To;
    double Left; // of its capacity
  };

  bool rank(size_t Source, size_t Sink);
  double push(size_t Node, size_t Sink, double Most);

  llvm::SmallVector<Arc, 64> Arcs;                          // each beside the one back
  llvm::SmallVector<llvm::SmallVector<size_t, 8>, 16> From; // arcs from each node
  llvm::SmallVector<unsigned, 16> Rank;                     // distance from the source, and 1; 0 where it is not reached
  llvm::SmallVector<size_t, 16> Next;                       // the arc to try
};

} // namespace mlcb::rl4real
