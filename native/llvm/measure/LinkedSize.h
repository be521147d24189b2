// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a module adds to the program that it is linked into.
#pragma once

#include <cstdint>

namespace llvm {
class Module;
}

namespace mlcb::measure {

/// Bytes of the module's object file, and of what a linker makes for it alone: an entry of the frame table for each function, a stub for each
/// function that another file may define and that is called here, a slot for each such symbol whose address is taken, a relocation for each
/// address in position independent data. An estimate: other files may need the same.
uint64_t linkedSize(const llvm::Module &M, uint64_t ObjectBytes);

} // namespace mlcb::measure
