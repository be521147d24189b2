// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy for the order of passes in clang, and in opt's default pipelines.
#pragma once

#include "llvm/task/TaskRegistration.h"

namespace mlcb {

/// The policy takes the pipeline's place: it runs at the start, and no optional pass after it does, unless the guard prefers the
/// pipeline.
void replacePipeline(const TaskRegistration &Task, llvm::PassBuilder &Builder);

} // namespace mlcb
