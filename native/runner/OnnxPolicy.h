// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy folder: policy.json and a model per agent; or a model alone. For .cpp files only.
#pragma once

#include "runner/OnnxModel.h"
#include "runner/PolicyManifest.h"

namespace mlcb {

/// The contents of a policy folder. Loaded once per process while in use.
struct OnnxPolicy {
  PolicyManifest Manifest;
  std::vector<OnnxModel> Models; // [agent]

  static Expected<std::shared_ptr<const OnnxPolicy>> open(const std::string &Folder, bool TrustsCode);

  /// A model alone, for whichever task its tensors fit.
  static Expected<std::shared_ptr<const OnnxPolicy>> ofModel(const std::string &Path, const BoundSpec &Spec);
};

} // namespace mlcb
