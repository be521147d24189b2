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

/// Tensors as decoded. The views are into what was decoded, or into Storage where the decoder had to make the elements itself.
struct Decoded {
  std::vector<TensorView> Views;
  std::vector<std::vector<std::byte>> Storage; // [tensor]; kept from one decoding to the next, so that the memory is
};

/// Tensors as encoded, in pieces that lie one after the other on the wire. They are in Storage, or a tensor's own bytes.
struct Encoded {
  std::vector<std::span<const std::byte>> Pieces;
  std::vector<std::byte> Storage; // kept from one encoding to the next, so that the memory is
};

/// Turns a list of tensors into bytes and back. Stateless, shared by threads.
class Serializer {
public:
  virtual ~Serializer();

  /// The name by which the Hello frame asks for it.
  virtual std::string_view name() const = 0;

  /// Replaces Out by the encoded tensors. Views[i] must have the shape that Specs[i] allows.
  virtual void encode(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, std::vector<std::byte> &Out) const = 0;

  /// The same bytes, but a serializer that keeps tensors as they are need not copy them. Valid as long as both Views and Out are.
  virtual void gather(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, Encoded &Out) const {
    encode(Specs, Views, Out.Storage);
    Out.Pieces.assign(1, Out.Storage);
  }

  /// Fills Out, whose views are valid as long as both In, which must be aligned to 8 bytes, and Out are. Everything In says is
  /// checked against Specs; a difference is a ProtocolError.
  virtual Expected<void> decode(std::span<const TensorSpec> Specs, std::span<const std::byte> In, Decoded &Out) const = 0;
};

/// Bitstream: what two ends speak that agree on nothing else.
const Serializer &defaultSerializer();

/// Makes a serializer known that is linked into this program; one static object beside it.
class SerializerRegistration {
public:
  explicit SerializerRegistration(const Serializer &New) : New(New), Next(std::exchange(Head, this)) {}

  static const Serializer *find(std::string_view Name);

private:
  static const SerializerRegistration *Head;
  const Serializer &New;
  const SerializerRegistration *Next;
};

/// The serializer of that name: Bitstream, one that is registered, or the one of libmlcb_serdes_NAME.so, which is opened when first
/// asked for. It is looked for in the folder that MLCB_SERIALIZERS names, beside this code, and in the package's lib.
Expected<const Serializer *> findSerializer(std::string_view Name);

} // namespace mlcb
