// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of a live range, whatever becomes of the others.
#pragma once

#include "llvm/observe/MachineVocabulary.h"
#include "llvm/tasks/regalloc/rl4real/Analyses.h"

#include "llvm/ADT/DenseMap.h"

namespace mlcb::rl4real {

/// Costs are those of measure::AllocationCosts.
struct LiveRangeFacts {
  float Density; // spill cost for each instruction that it lives through, or a few more; the heaviest are those that must not be spilled
  float Weight, SpillCost, CopyCost, Instructions, Uses, Hottest, Calls, Local, Hinted, Registers;
  std::vector<float> Embedding; // mean of those of the instructions that read or write it; empty without a vocabulary
};

/// Each is found once.
class FactsOfFunction {
public:
  FactsOfFunction(const Analyses &A, const MachineVocabulary *Seeds) : A(A), Seeds(Seeds) {}

  /// The length of an embedding.
  size_t dimension() const { return Seeds ? Seeds->identity().Dimension : 0; }

  const LiveRangeFacts &of(const llvm::LiveInterval &Range);

  /// Forgets those of a live range that was changed.
  void forget(llvm::Register R) { Known.erase(R); }

  /// The splits that a live range came from.
  unsigned splits(llvm::Register R) const { return Splits.lookup(R); }

  /// The parts that a live range, which was not split from another one, is in now.
  llvm::ArrayRef<llvm::Register> parts(llvm::Register Original) { return Parts[Original]; }

  /// A part of a live range that fell apart has as many splits behind it.
  void noteClone(llvm::Register Clone, llvm::Register Old) { note(Clone, splits(Old)); }

  void noteSplit(const llvm::LiveInterval &Range, llvm::ArrayRef<llvm::Register> New);

private:
  void note(llvm::Register Part, unsigned SplitsBefore);
  LiveRangeFacts find(const llvm::LiveInterval &Range) const;

  const Analyses &A;
  const MachineVocabulary *Seeds; // null where nothing is embedded
  llvm::DenseMap<llvm::Register, std::unique_ptr<LiveRangeFacts>> Known;
  llvm::DenseMap<llvm::Register, unsigned> Splits;
  llvm::DenseMap<llvm::Register, llvm::SmallVector<llvm::Register, 4>> Parts;
};

} // namespace mlcb::rl4real
