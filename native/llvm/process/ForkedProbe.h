// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trying something dangerous in another process.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace mlcb {

/// Runs the task in a fork, silently, and gives back what it said; nothing if it crashed or took too long.
std::optional<std::string> probe(llvm::function_ref<std::string()> Task, unsigned MaxSeconds = 60);

/// Whether this process is such a fork: what its host would leave behind, or take away, is not its own.
bool isProbe();

} // namespace mlcb
