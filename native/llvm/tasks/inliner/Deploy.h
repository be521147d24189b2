// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy for the inliner in the pipelines of clang and opt.
#pragma once

#include "llvm/task/TaskRegistration.h"

namespace mlcb {

/// The policy answers wherever the host's inliner asks, unless the guard prefers the heuristic.
void adviseHostInliner(const TaskRegistration &Task, llvm::PassBuilder &Builder);

} // namespace mlcb
