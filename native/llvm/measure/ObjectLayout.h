// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of sections, from the assembler's final layout.
#pragma once

#include "llvm/measure/Measure.h"

namespace llvm {
class MCAssembler;
class MCSection;
} // namespace llvm

namespace mlcb::measure {

/// Whether the section's bytes are in the file and loaded when the program runs.
bool isLoaded(const llvm::MCSection &Section, const llvm::Triple &Target);

/// The sections of the object, summed.
Size sizeOf(const llvm::MCAssembler &Layout, const llvm::Triple &Target);

} // namespace mlcb::measure
