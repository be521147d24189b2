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

/// Work on a module where a pipeline begins; whether the module may have changed.
using AtPipelineStart = std::function<bool(llvm::Module &M, const HostPipeline &Host)>;

/// Work on a module where a pipeline of a level ends; whether the module may have changed.
using AtPipelineEnd = std::function<bool(llvm::Module &M, llvm::OptimizationLevel Built, llvm::ThinOrFullLTOPhase Phase)>;

/// Runs at the start of every pipeline of the host, those of a link too, but not at -O0.
void runAtPipelineStart(llvm::PassBuilder &Builder, AtPipelineStart Run);

/// Runs when the last optimization of every pipeline of the host is done.
void runAtPipelineEnd(llvm::PassBuilder &Builder, AtPipelineEnd Run);

} // namespace mlcb
