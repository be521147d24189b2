// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A guard's trial of a module in a fork, and the remark about its result.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

#include <optional>
#include <string>

namespace llvm {
class Module;
}

namespace mlcb {

/// The result of Trial, which runs in a fork of this process: the module stays as it is, and neither a crash nor a changed option survives.
/// Nothing where it fails or takes too long.
std::optional<std::string> tryInFork(llvm::Module &M, llvm::function_ref<std::string()> Trial);

/// Emits an optimization remark of "mlcb" (`clang -Rpass=mlcb`, `opt -pass-remarks=mlcb`).
void remark(const llvm::Twine &Message, llvm::Module &M);

} // namespace mlcb
