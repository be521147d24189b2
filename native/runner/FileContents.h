// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All that is in a file.
#pragma once

#include "spec/Error.h"

namespace mlcb {

Expected<std::string> readFile(const std::string &Path);

} // namespace mlcb
