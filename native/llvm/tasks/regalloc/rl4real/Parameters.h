// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parameters that rl4real.def adds to those of register allocation, as C++ values.
#pragma once

#include "spec/TaskSpec.h"
#include "llvm/observe/MachineVocabulary.h"

namespace mlcb::rl4real {

constexpr unsigned MostSplits = 16; // each may double the parts of a live range

struct AllocatorParameters {
  unsigned Splits;
  const MachineVocabulary *Seeds = nullptr; // null where nothing is embedded

  /// A value that means nothing, or another vocabulary than this process's, is an error.
  static Expected<AllocatorParameters> read(const BoundSpec &Spec);
};

} // namespace mlcb::rl4real
