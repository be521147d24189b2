// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements from JSON text, checked against what was declared. For .cpp files only.
#pragma once

#include "serdes/NamedTensors.h"

#include <simdjson.h>

namespace mlcb::json {

/// A ProtocolError: "the payload is no JSON object of tensors: <Why>".
Unexpected malformed(simdjson::error_code Why);

/// Puts the elements of a tensor into Storage and gives its shape.
Expected<std::vector<int64_t>> readTensor(const TensorSpec &Spec, simdjson::ondemand::value From,
                                          std::vector<std::byte> &Storage);

} // namespace mlcb::json
