// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parameters of inliner.def as C++ values.
#pragma once

#include "llvm/observe/ModuleObserver.h"
#include "spec/TaskSpec.h"

#include <optional>
#include <string>

namespace mlcb {

/// An embedding that a policy sees, of the process's vocabulary.
struct EmbeddingChoice {
  EmbeddingKind Kind;
  const Vocabulary &Seeds;
};

struct InlinerParameters {
  std::string Pipeline;
  double Growth;
  std::optional<EmbeddingChoice> Embedding;
  bool Context;

  /// Reads the parameters of a bound spec of the task; a value that means nothing, or another vocabulary than this process's, is an
  /// error. Whether LLVM takes the pipeline is not looked at.
  static Expected<InlinerParameters> read(const BoundSpec &Spec);
};

} // namespace mlcb
