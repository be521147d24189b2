// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors in declared order, raw, each at an 8-byte boundary; docs/protocol.md has the format.
#pragma once

#include "serdes/Serializer.h"

namespace mlcb {

class Bitstream final : public Serializer {
public:
  std::string_view name() const override { return "bitstream"; }
  void encode(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, std::vector<std::byte> &Out) const override;
  void gather(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, Encoded &Out) const override;
  Expected<void> decode(std::span<const TensorSpec> Specs, std::span<const std::byte> In, Decoded &Out) const override;
};

} // namespace mlcb
