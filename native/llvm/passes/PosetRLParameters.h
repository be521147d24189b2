// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parameters of posetrl.def as C++ values.
#pragma once

#include "llvm/observe/ModuleObserver.h"
#include "spec/TaskSpec.h"

#include <string>
#include <vector>

namespace mlcb {

struct PosetRLParameters {
  std::vector<std::string> Actions;
  bool StartFromOz;
  int64_t MaxSteps;
  bool Unique;
  EmbeddingKind Observation;

  /// Reads the parameters of a bound spec of the task; a value that means nothing, or a vocabulary other than Seeds, is an error.
  static Expected<PosetRLParameters> read(const BoundSpec &Spec, const Vocabulary &Seeds);
};

} // namespace mlcb
