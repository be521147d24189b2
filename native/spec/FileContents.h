// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All that is in a file.
#pragma once

#include "spec/Error.h"

#include <cstddef>

namespace mlcb {

/// The size of the largest file that is read: what ONNX allows a model.
inline constexpr size_t MaxFileSize = (size_t(2) << 30) - 1;

/// The contents of a regular file of at most Limit bytes. Anything else, as a FIFO, a device or a folder, is an InvalidArgument at once.
Expected<std::string> readFile(const std::string &Path, size_t Limit = MaxFileSize);

} // namespace mlcb
