// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy folder: policy.json and a model per agent; or a model alone. For .cpp files only.
#pragma once

#include "runner/OnnxModel.h"

namespace mlcb {

/// What a policy folder holds, checked against this build's declaration of its task (or its own, where this build has none).
/// Loaded once per process while in use.
struct OnnxPolicy {
  std::string Folder;
  BoundSpec Spec;
  std::string SpecJson; // as the policy was trained with, for sentences
  std::vector<OnnxModel> Models; // [agent]

  static Expected<std::shared_ptr<const OnnxPolicy>> open(const std::string &Folder);

  /// A model alone, for whichever task its tensors fit.
  static Expected<std::shared_ptr<const OnnxPolicy>> ofModel(const std::string &Path, const BoundSpec &Spec);
};

} // namespace mlcb
