// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Policies for the allocator inside clang.
#pragma once

#include "llvm/task/TaskRegistration.h"

namespace mlcb::rl4real {

/// Gives optimized code this allocator where the command line names a policy for it. In llc, which has no such pipelines, `-regalloc=mlcb` does.
void allocateInHost(const TaskRegistration &Task, llvm::PassBuilder &Builder);

} // namespace mlcb::rl4real
