// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dangerous work in a process of its own.
#pragma once

#include "spec/Error.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace mlcb {

/// Runs the task in a fork, silently, and gives back what it said; nothing if it crashed or took too long. A machine that cannot fork is a
/// SystemError.
Expected<std::optional<std::string>> probe(llvm::function_ref<std::string()> Task, unsigned MaxSeconds = 60);

/// The error of a task that says what is wrong, or nothing: that text, or Crashed where it ended its fork.
Expected<void> examineInFork(llvm::function_ref<std::string()> Task, const std::string &Crashed);

/// Whether this process is such a fork: what its host would leave behind, or take away, is not its own.
bool isProbe();

} // namespace mlcb
