// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A task's work on a module before the pipeline of its host.
#pragma once

#include "llvm/pipeline/Level.h"

#include <functional>

namespace llvm {
class Module;
class PassBuilder;
} // namespace llvm

namespace mlcb {

/// Work on a module. The pipeline of At begins; the result is whether the module may have changed.
using AtPipelineStart = std::function<bool(llvm::Module &M, const Level &At)>;

/// Runs at the start of every pipeline of the host but that of -O0.
void runAtPipelineStart(llvm::PassBuilder &Builder, AtPipelineStart Run);

} // namespace mlcb
