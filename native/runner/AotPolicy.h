// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy compiled ahead of time: one shared object with its models and its policy.json. For .cpp files only.
#pragma once

#include "runner/AotAbi.h"
#include "runner/PolicyManifest.h"

#include <memory>
#include <span>

namespace mlcb {

/// Loaded, and unloaded with its last user.
struct AotPolicy {
  std::unique_ptr<void, int (*)(void *)> Library;
  PolicyManifest Manifest;
  std::span<const mlcb_aot_agent> Agents;

  static Expected<std::shared_ptr<const AotPolicy>> open(const std::string &Path);
};

} // namespace mlcb
