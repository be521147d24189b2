// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors as bytes.
#pragma once

#include "spec/TaskSpec.h"

#include <cstddef>
#include <span>
#include <utility>

namespace mlcb {

/// A tensor as it lies in memory: its true shape, and its elements, row major (of a string: its bytes).
struct TensorView {
  std::vector<int64_t> Shape;
  std::span<const std::byte> Bytes;
};

/// Turns a list of tensors into bytes and back. Stateless, shared by threads.
class Serializer {
public:
  virtual ~Serializer();

  /// The name by which the Hello frame asks for it.
  virtual std::string_view name() const = 0;

  /// Replaces Out by the encoded tensors. Views[i] must have the shape that Specs[i] allows.
  virtual void encode(std::span<const TensorSpec> Specs, std::span<const TensorView> Views,
                      std::vector<std::byte> &Out) const = 0;

  /// Fills Views with views into In, which must be aligned to 8 bytes. Everything In says of lengths is checked against Specs
  /// and its size; a difference is a ProtocolError.
  virtual Expected<void> decode(std::span<const TensorSpec> Specs, std::span<const std::byte> In,
                                std::vector<TensorView> &Views) const = 0;
};

/// The serializer of that name; null if there is none.
const Serializer *findSerializer(std::string_view Name);

/// Makes a serializer known that is not this library's; one static object beside it.
class SerializerRegistration {
public:
  explicit SerializerRegistration(const Serializer &New) : New(New), Next(std::exchange(Head, this)) {}

  static const Serializer *find(std::string_view Name);

private:
  static const SerializerRegistration *Head;
  const Serializer &New;
  const SerializerRegistration *Next;
};

inline constexpr std::string_view DefaultSerializer = "bitstream";

} // namespace mlcb
