// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a dying child still tells the learner.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class LLVMContext;
}

namespace mlcb {

class RemoteRunner;

/// From here on a crash, a fatal error of LLVM, exhausted memory, or a signal of a limit is an Error frame on the runner's channel that
/// names what happened and in which activity, and the end of this process. The runner must live as long as the process.
void reportCrashesTo(const RemoteRunner &Runner, llvm::LLVMContext &Context);

/// Sends such a frame and ends the process. Safe in a signal handler.
[[noreturn]] void reportAndExit(llvm::StringRef What);

} // namespace mlcb
