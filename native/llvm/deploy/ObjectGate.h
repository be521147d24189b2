// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The moment before a compiler writes its object file.
#pragma once

#include <functional>

namespace llvm {
class MCAssembler;
class Triple;
} // namespace llvm

namespace mlcb {

/// What is done when an ELF object is laid out and no byte of it is written.
using AtObject = std::function<void(const llvm::MCAssembler &Layout)>;

/// From now on object files for the target call Run, each once; assembly, and an object with a file of debug information beside it, call Otherwise
/// before they are begun, which does not return.
void gateObjects(const llvm::Triple &Target, AtObject Run, void (*Otherwise)());

} // namespace mlcb
