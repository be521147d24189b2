// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy for the attributes of functions in the pipelines of clang and opt.
#pragma once

#include "llvm/task/TaskRegistration.h"

namespace mlcb {

/// The policy decides where a pipeline of the host ends. Under the guard only where the module gets smaller; with -mlcb-candidates=K code is
/// generated for the first K changes of each function, and the smallest is kept, whatever the policy would say.
void decideAtPipelineEnd(const TaskRegistration &Task, llvm::PassBuilder &Builder);

} // namespace mlcb
