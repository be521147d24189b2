// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy for the order of passes in clang, and in opt's default pipelines.
#pragma once

#include "llvm/task/TaskRegistration.h"

namespace mlcb {

/// The policy's passes take the place of the pipeline's optimizations, unless the guard prefers these.
void replaceOptimizations(const TaskRegistration &Task, llvm::PassBuilder &Builder);

} // namespace mlcb
