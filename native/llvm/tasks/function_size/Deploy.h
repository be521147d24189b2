// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Policies for single functions in the pipelines of clang and opt.
#pragma once

#include "llvm/task/TaskRegistration.h"

namespace mlcb {

/// The policy decides where a pipeline of the host ends. Under the guard only where the module gets smaller; with -mlcb-candidates=K code is
/// generated for the first K actions of each function, and the smallest is kept, whatever the policy would say.
void decideAtPipelineEnd(const TaskRegistration &Task, llvm::PassBuilder &Builder);

/// The policy's own pipeline, and then its decisions, take the place of the host's optimizations; nobody decides about the functions once more where
/// the host's pipeline ends. With -mlcb-candidates=K code is generated for the K actions of each function that the policy prefers.
void decideInPlaceOfOptimizations(const TaskRegistration &Task, llvm::PassBuilder &Builder);

} // namespace mlcb
