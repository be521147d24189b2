// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The share of single functions in an object.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class MCAssembler;
}

namespace mlcb::measure {

/// Bytes of text, of entries in the unwind table and of jump tables that the object has for each function, by the name of its symbol; 0 for one
/// that it does not define. Padding and constants, which functions share, are nobody's.
std::vector<uint64_t> functionBytes(const llvm::MCAssembler &Layout, llvm::ArrayRef<std::string> Names);

} // namespace mlcb::measure
