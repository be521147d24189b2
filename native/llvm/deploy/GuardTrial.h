// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A guard's trial of a module in a fork.
#pragma once

#include "llvm/process/HeldFork.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class Module;
}

namespace mlcb {

/// The result of Trial, which runs in a fork of this process: the module stays as it is, and neither a crash nor a changed option survives.
/// Nothing where it fails or takes too long, or where another thread may compile, for a fork of several may wait forever.
std::optional<std::string> tryInFork(llvm::Module &M, llvm::function_ref<std::string()> Trial);

/// How many functions of such forks, of this process or before it, have passed a limit of theirs, as that of a frame: the host warns or fails.
unsigned limitsPassed();

/// A fork that compiles on as the host, of one thread; there null. While it is held the first error ends it.
Expected<std::unique_ptr<HeldFork>> goOnInFork(llvm::Module &M);

/// Asks the host for its answer (HeldFork::ask), and is from then on the compiler.
std::string askToFinish(const std::string &Found);

} // namespace mlcb
