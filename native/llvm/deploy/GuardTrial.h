// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A guard's trial of a module in a fork.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace llvm {
class Module;
}

namespace mlcb {

/// The result of Trial, which runs in a fork of this process: the module stays as it is, and neither a crash nor a changed option survives.
/// Nothing where it fails or takes too long, or where another thread has tried before: a fork of several threads may wait forever.
std::optional<std::string> tryInFork(llvm::Module &M, llvm::function_ref<std::string()> Trial);

} // namespace mlcb
