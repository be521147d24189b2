// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host's compilation, as something that a policy can make fail.
#pragma once

#include "spec/Error.h"

namespace llvm {
class Module;
}

namespace mlcb {

/// Ends the compilation with one line, exit code 1, and no output file. After a first error, later ones are not reported.
void failCompilation(llvm::Module &M, const Error &Why);

/// Whether the compilation has failed, though a compiler may go on for a while.
bool hasFailed(const llvm::Module &M);

} // namespace mlcb
