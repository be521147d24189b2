// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The live ranges of a function that cannot share a register.
#pragma once

#include "llvm/tasks/regalloc/rl4real/Analyses.h"
#include "llvm/tasks/regalloc/rl4real/ExactSum.h"
#include "llvm/tasks/regalloc/rl4real/LiveRangeFacts.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace mlcb::rl4real {

/// Live ranges, one or more: their number, and what is summed over those that wait.
struct RangeSums {
  unsigned Ranges = 0, Waiting = 0;
  ExactSum Density, SpillCost;

  RangeSums &operator+=(const RangeSums &Other);
  RangeSums &operator-=(const RangeSums &Other);
  bool operator==(const RangeSums &) const = default;
};

/// Kept up while live ranges are split, spilled and given registers: the sums of their neighbours are changed once, and a question only reads them.
class InterferenceGraph {
public:
  InterferenceGraph(const Analyses &A, FactsOfFunction &Facts);

  /// Takes in what became of live ranges. One that waits and is not known yet gets its edges to all others, and keeps them.
  void update(llvm::ArrayRef<llvm::Register> Changed);

  /// Over the neighbours of one that waited at an update.
  const RangeSums &around(llvm::Register R) const { return Around[Numbers.at(R)]; }

  /// The neighbours that wait.
  llvm::SmallVector<llvm::Register, 8> waitingAround(llvm::Register R) const;

private:
  struct Node {
    llvm::Register R;
    const llvm::LiveInterval *Range;
    RangeSums Counted; // among its neighbours; nothing once it is gone
    unsigned LastLinked;
    llvm::SmallVector<unsigned, 0> Neighbours;
  };
  /// The instructions up to the next stretch, and the nodes with a segment that goes on into them or begins in them.
  struct Stretch {
    llvm::SlotIndex From;
    llvm::SmallVector<unsigned, 0> LiveIn, Beginning;
  };

  Stretch *stretchOf(llvm::SlotIndex At);
  RangeSums alone(llvm::Register R) const;
  void recount(Node &Of);
  void add(llvm::Register R);
  void linkAll(unsigned New, const llvm::LiveRange::Segment &Segment, llvm::SmallVectorImpl<unsigned> &Others);
  void enter(unsigned New, const llvm::LiveRange::Segment &Segment);
  bool mayShare(llvm::Register One, llvm::Register Other);

  const Analyses &A;
  FactsOfFunction &Facts;
  llvm::DenseMap<llvm::Register, unsigned> Numbers; // of the nodes
  std::vector<Node> Nodes;
  std::vector<RangeSums> Around; // of each node, over its neighbours
  llvm::SmallVector<Stretch, 0> Stretches;
  llvm::DenseMap<std::pair<const llvm::TargetRegisterClass *, const llvm::TargetRegisterClass *>, bool> Overlaps;
};

} // namespace mlcb::rl4real
