// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies of a command line, at work on a module.
#pragma once

#include "llvm/passes/TaskPass.h"

namespace mlcb {

/// Whether -mlcb-runner names any runner.
bool hasRunners();

/// Who decides on a module, of those that the command line names.
enum class Decider {
  Nobody,    // every policy is for another task
  Heuristic, // `default:`, or the guard prefers it: the module is as it was
  Policy     // and has done so: the module is its result
};

/// Lets the task's policy work on the module; with -mlcb-guard only if the result is not larger than that of the heuristic, a pipeline.
Expected<Decider> decide(const TaskRegistration &Task, llvm::StringRef Heuristic, llvm::Module &M);

} // namespace mlcb
