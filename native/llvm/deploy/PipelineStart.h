// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A task's work on a module where a pipeline of its host begins, or ends.
#pragma once

#include "llvm/pipeline/Level.h"

#include "llvm/Passes/PassBuilder.h"

#include <functional>
#include <string>

namespace mlcb {

/// A pipeline of the host, at work on a module.
struct HostPipeline {
  llvm::PassBuilder &Builder;
  llvm::ModuleAnalysisManager &Modules;
  const Level &At;
  llvm::ThinOrFullLTOPhase Phase;

  /// As opt -passes= reads it.
  std::string text() const;

  /// Runs another like it, of the host's own builder.
  void run(llvm::Module &M) const;
};

/// Work on a module where a pipeline begins or ends; whether the module may have changed.
using AtPipeline = std::function<bool(llvm::Module &M, const HostPipeline &Host)>;

/// Runs at the start of every pipeline of the host, those of a link too, but not at -O0.
void runAtPipelineStart(llvm::PassBuilder &Builder, AtPipeline Run);

/// Runs when the last optimization of every pipeline of the host is done, at -O0 too.
void runAtPipelineEnd(llvm::PassBuilder &Builder, AtPipeline Run);

} // namespace mlcb
