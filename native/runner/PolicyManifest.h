// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy.json: what a policy says of itself, wherever it is kept.
#pragma once

#include "spec/TaskSpec.h"

namespace mlcb {

/// A policy's task, checked against this build's declaration of it (or its own, where this build has none), and its parts.
struct PolicyManifest {
  std::string Where; // the policy, for sentences
  BoundSpec Spec;
  std::string SpecJson;                // as the policy was trained with, for sentences
  std::vector<std::string> Models;     // [agent] names of files beside it
  std::string CustomOperators;         // such a name too; empty if it needs none

  static Expected<PolicyManifest> parse(std::string Where, std::string_view Text);
};

} // namespace mlcb
