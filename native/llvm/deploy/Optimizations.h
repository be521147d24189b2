// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of LLVM's default pipelines that do nothing but optimize.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlcb {

/// Whether a program is right without the pass of this class, and no option of the user asks for it. What any -O adds for coroutines,
/// profiles, coverage and sanitizers is none, nor is a pass that is not LLVM's, nor what makes the tables that others leave relative.
bool isOptimization(llvm::StringRef Class);

/// Whether the pass makes a profile, or uses one.
bool isProfiling(llvm::StringRef Class);

} // namespace mlcb
