// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A process that ends together with all that it forks.
#pragma once

#include "spec/Error.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlcb {

/// Does the work in a process of its own; returns that process's status, as waitpid() has it. What it forked and left running, daemons too, is
/// killed when it ends, and all of them when this process ends.
Expected<int> runAsTree(llvm::function_ref<void()> Work);

} // namespace mlcb
