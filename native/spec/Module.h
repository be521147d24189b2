// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A shared object that is opened at its first use, so that nobody else loads its libraries.
#pragma once

#include "spec/Error.h"

namespace mlcb {

/// A function of a shared object of ours, which is looked for in the folder that MLCB_SERIALIZERS names, beside this code, and in the
/// package's lib. It is never closed: what its functions give is handed out.
Expected<void *> findInModule(const std::string &File, const char *Symbol);

} // namespace mlcb
