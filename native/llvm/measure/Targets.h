// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Target machines for any triple that this LLVM knows.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace mlcb::measure {

/// Initialises the triple's backend (that one only) and makes a machine at the default level.
/// An empty CPU means the triple's generic one, an empty triple that of this machine, as llc has it.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const llvm::Triple &Triple, llvm::StringRef Cpu,
                                                                         llvm::Reloc::Model Relocations = llvm::Reloc::PIC_);

} // namespace mlcb::measure
