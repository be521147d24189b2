// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy folder: policy.json and a model per agent. For .cpp files only.
#pragma once

#include "runner/OnnxModel.h"

namespace mlcb {

/// What a policy folder holds, checked against this build's declaration of its task. Loaded once per process while in use.
struct OnnxPolicy {
  std::string Folder;
  BoundSpec Spec;
  std::string SpecJson; // as the policy was trained with, for sentences
  std::vector<OnnxModel> Models; // [agent]

  static Expected<std::shared_ptr<const OnnxPolicy>> open(const std::string &Folder);
};

} // namespace mlcb
