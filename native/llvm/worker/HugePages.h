// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code on huge pages, where every episode finds it mapped.
#pragma once

#include <cstdint>

namespace mlcb {

/// Moves the code of the library that holds this address from its file to huge pages of memory, which takes some 20 ms. A child would map the pages
/// of a file anew, fault by fault, and unmap them; huge pages come with the fork. What the system does not allow stays as it is: Linux has it from
/// 6.1 on. To be called while there is one thread. A profiler finds no names in code that was moved: MLCB_DEBUG leaves it where it is.
void moveCodeToHugePages(uintptr_t Address);

} // namespace mlcb
