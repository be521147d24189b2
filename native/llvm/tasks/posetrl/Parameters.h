// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parameters of posetrl.def as C++ values.
#pragma once

#include "spec/TaskSpec.h"
#include "llvm/observe/ModuleObserver.h"
#include "llvm/pipeline/Action.h"

#include <string>
#include <vector>

namespace mlcb {

struct PosetRLParameters {
  std::vector<Action> Actions;
  bool StartFromOz;
  int64_t MaxSteps;
  bool Unique;
  EmbeddingKind Observation;
  int64_t Dimension;
  std::string VocabularyDigest;

  /// Reads the parameters of a bound spec of the task; a value that means nothing is an error.
  static Expected<PosetRLParameters> read(const BoundSpec &Spec);

  /// Whether a vocabulary is the one they are for.
  Expected<void> check(const Vocabulary &Seeds) const;
};

inline bool setsOptions(const PosetRLParameters &Parameters) { return anySetsOptions(Parameters.Actions); }

} // namespace mlcb
