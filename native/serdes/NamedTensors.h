// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors that come by name, in any order, from a stranger: what the decoder of a self-describing format has to check.
#pragma once

#include "serdes/Serializer.h"

namespace mlcb {

/// The declaration of a tensor, as "float32[2,<=600]".
std::string typeAndShape(const TensorSpec &Spec);

/// A ProtocolError: "tensor NAME <What>, expected TYPE[SHAPE]".
Unexpected notAsDeclared(const TensorSpec &Spec, const std::string &What);

/// Collects tensors as they come. All errors are ProtocolErrors.
class NamedTensors {
public:
  NamedTensors(std::span<const TensorSpec> Specs, Decoded &Into);

  /// The index of the tensor of that name, which is declared and has not come before.
  Expected<size_t> arrive(std::string_view Name);

  /// Where the elements of a tensor go.
  std::vector<std::byte> &storage(size_t I) { return Into.Storage[I]; }

  /// Accepts what lies in the storage as a tensor of that shape.
  Expected<void> accept(size_t I, std::span<const int64_t> Shape);

  /// Every tensor must have come.
  Expected<void> end() const;

private:
  std::span<const TensorSpec> Specs;
  Decoded &Into;
  std::vector<bool> Here;
};

} // namespace mlcb
