// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy's passes in the place of the optimizations of the host's own pipeline.
#pragma once

#include "llvm/deploy/PipelineStart.h"

namespace mlcb {

struct Takeover {
  /// Whether the optimizations of a pipeline are left out; asked where it begins.
  std::function<bool(llvm::Module &M, const HostPipeline &Host)> Begins;

  /// Runs in their place. By then coroutines are split, functions instrumented, profiles made or used.
  std::function<void(llvm::Module &M)> Optimize;
};

/// Takes over the pipelines of the host but that of -O0. All that it adds to plain -Oz runs as ever. Where it makes or uses a profile, all of its
/// passes run up to that: profiles fit functions as these passes leave them.
void takeOverPipelines(llvm::PassBuilder &Builder, Takeover With);

} // namespace mlcb
