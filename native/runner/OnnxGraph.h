// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the graph of an ONNX model may do, read from its bytes before ONNX Runtime sees them.
#pragma once

#include "spec/Error.h"

#include <cstddef>
#include <span>

namespace mlcb {

/// Refuses a model whose nodes might run more often than they stand in it, for such a one may compute without end in a compiler: one that
/// has loops, or functions of its own, which call each other. Also one that names other files, for its tensors. Errors begin with Name.
Expected<void> checkGraph(const std::string &Name, std::span<const std::byte> Model);

} // namespace mlcb
