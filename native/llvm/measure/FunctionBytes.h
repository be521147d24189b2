// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The share of single functions in an object.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class MCAssembler;
class MCSymbol;
} // namespace llvm

namespace mlcb::measure {

/// The bytes of a function's text by its symbol; none where the assembler does not know them. Fails where the object is not an ELF file.
std::optional<uint64_t> symbolBytes(const llvm::MCAssembler &Layout, const llvm::MCSymbol &Symbol);

/// Bytes of text, of entries in the unwind table and of jump tables that the object has for each function, by the name of its symbol; 0 for one
/// that it does not define. Padding and constants, which functions share, are nobody's.
std::vector<uint64_t> functionBytes(const llvm::MCAssembler &Layout, llvm::ArrayRef<std::string> Names);

} // namespace mlcb::measure
