// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last bytes of a compiled policy: that it is one, whole, and which CPU it is for. They are read before any of its code is.
#pragma once

#include "spec/Error.h"

namespace mlcb {

/// The seal to append to a shared object. Cpu is a level of the x86-64 psABI, as `x86-64-v3`, or `baseline` for any.
Expected<std::string> sealOf(std::string_view SharedObject, std::string_view Cpu);

/// Whether a file is sealed and unharmed, and this CPU can run it.
Expected<void> checkSeal(const std::string &Path);

} // namespace mlcb
