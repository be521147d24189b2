// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// policy.json: what a policy says of itself, wherever it is kept.
#pragma once

#include "spec/TaskSpec.h"

namespace mlcb {

/// The model of an agent.
struct PolicyModel {
  std::string File;     // a name beside the policy
  bool Prepacks = true; // whether ONNX Runtime is faster with its weights packed for it, as the export has measured
};

/// A policy's task, checked against this build's declaration of it (or its own, where this build has none), and its parts.
struct PolicyManifest {
  std::string Where; // the policy, for sentences
  BoundSpec Spec;
  std::string SpecJson;            // as the policy was trained with, for sentences
  std::vector<PolicyModel> Models; // [agent]
  std::string CustomOperators;     // the name of a library beside it; empty if it needs none
  std::string Target;              // the architecture that it was taught for; empty where that is not known

  static Expected<PolicyManifest> parse(std::string Where, std::string_view Text);
};

} // namespace mlcb
