// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parameters of loop_distribution.def as C++ values.
#pragma once

#include "spec/TaskSpec.h"
#include "llvm/observe/Vocabulary.h"

#include <string>

namespace mlcb {

struct LoopDistributionParameters {
  std::string Pipeline;
  bool KeepsOptSize;
  const Vocabulary *Seeds; // null where nothing is embedded

  /// Reads the parameters of a bound spec of the task; a value that means nothing, or another vocabulary than this
  /// process's, is an error. Whether LLVM takes the pipeline is not looked at.
  static Expected<LoopDistributionParameters> read(const BoundSpec &Spec);
};

} // namespace mlcb
