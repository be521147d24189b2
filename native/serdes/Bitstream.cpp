// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serdes/Bitstream.h"

#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "the wire is little endian; this code copies raw memory");

namespace mlcb {
namespace {

using ByteSpan = std::span<const std::byte>;

constexpr size_t alignUp(size_t Offset) { return (Offset + 7) & ~size_t(7); }

// A tensor of fewer bytes is copied: a piece of its own would cost more.
constexpr size_t MinPiece = 1024;

/// Padding, lengths and small tensors.
size_t maxCopied(std::span<const TensorSpec> Specs) {
  size_t Size = 0;
  for (const TensorSpec &Spec : Specs)
    Size += sizeof(int64_t) * (Spec.Shape.size() + 2) + MinPiece;
  return Size;
}

/// Puts bytes one after the other, each in Storage, whose memory stays where it is, or where they are.
class Gatherer {
public:
  Gatherer(Encoded &Out, size_t MaxCopied) : Out(Out) {
    Out.Pieces.clear();
    Out.Storage.clear();
    Out.Storage.reserve(MaxCopied);
  }

  void pad() {
    Out.Storage.resize(Out.Storage.size() + alignUp(Size) - Size);
    Size = alignUp(Size);
  }

  void length(int64_t Value) { copy(std::as_bytes(std::span(&Value, 1))); }

  void bytes(ByteSpan Bytes) { Bytes.size() < MinPiece ? copy(Bytes) : refer(Bytes); }

  void end() { refer({}); }

private:
  void copy(ByteSpan Bytes) {
    Out.Storage.insert(Out.Storage.end(), Bytes.begin(), Bytes.end());
    Size += Bytes.size();
  }

  void refer(ByteSpan Bytes) {
    for (const ByteSpan Piece : {ByteSpan(Out.Storage).subspan(Cut), Bytes})
      if (!Piece.empty())
        Out.Pieces.push_back(Piece);
    Cut = Out.Storage.size();
    Size += Bytes.size();
  }

  Encoded &Out;
  size_t Size = 0; // of all so far
  size_t Cut = 0;  // of Storage, what is in a piece
};

/// Reads from the front of a payload and never beyond its end.
class Reader {
public:
  explicit Reader(std::span<const std::byte> In) : In(In) {}

  Expected<void> tensor(const TensorSpec &Spec, TensorView &View) {
    Offset = std::min(alignUp(Offset), In.size());
    size_t Elements = 1;
    View.Shape.clear();
    for (const Dim &D : Spec.Shape) {
      auto Size = D.varies() ? length(Spec, D.Size) : Expected<int64_t>(D.Size);
      if (!Size)
        return Unexpected(Size.error());
      View.Shape.push_back(*Size);
      Elements *= static_cast<size_t>(*Size); // no overflow: each is at most what binding has checked
    }
    if (Spec.Type != DType::String)
      return bytes(Spec, Elements * byteSize(Spec.Type), View);
    auto Size = length(Spec, static_cast<int64_t>(In.size()));
    return Size ? bytes(Spec, static_cast<size_t>(*Size), View) : Unexpected(Size.error());
  }

  Expected<void> end() const {
    if (Offset == In.size())
      return {};
    return fail(ErrorKind::ProtocolError, "the payload has " + std::to_string(In.size()) + " bytes, its tensors " + std::to_string(Offset));
  }

private:
  Expected<int64_t> length(const TensorSpec &Spec, int64_t Max) {
    TensorView Raw;
    if (auto Done = bytes(Spec, sizeof(int64_t), Raw); !Done)
      return Unexpected(Done.error());
    int64_t Value;
    std::memcpy(&Value, Raw.Bytes.data(), sizeof Value);
    if (Value < 0 || Value > Max)
      return fail(ErrorKind::ProtocolError,
                  "tensor " + std::string(Spec.Name) + " has a length of " + std::to_string(Value) + ", expected 0 to " + std::to_string(Max));
    return Value;
  }

  Expected<void> bytes(const TensorSpec &Spec, size_t Count, TensorView &View) {
    if (Count > In.size() - Offset)
      return fail(ErrorKind::ProtocolError, "tensor " + std::string(Spec.Name) + " needs " + std::to_string(Count) + " bytes, the payload has " +
                                                std::to_string(In.size() - Offset) + " left");
    View.Bytes = In.subspan(Offset, Count);
    Offset += Count;
    return {};
  }

  std::span<const std::byte> In;
  size_t Offset = 0;
};

} // namespace

void Bitstream::encode(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, std::vector<std::byte> &Out) const {
  Encoded Parts;
  gather(Specs, Views, Parts);
  Out.clear();
  for (const auto &Piece : Parts.Pieces)
    Out.insert(Out.end(), Piece.begin(), Piece.end());
}

void Bitstream::gather(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, Encoded &Out) const {
  Gatherer Into(Out, maxCopied(Specs));
  for (size_t I = 0; I < Specs.size(); ++I) {
    Into.pad();
    for (size_t D = 0; D < Specs[I].Shape.size(); ++D)
      if (Specs[I].Shape[D].varies())
        Into.length(Views[I].Shape[D]);
    if (Specs[I].Type == DType::String)
      Into.length(static_cast<int64_t>(Views[I].Bytes.size()));
    Into.bytes(Views[I].Bytes);
  }
  Into.end();
}

Expected<void> Bitstream::decode(std::span<const TensorSpec> Specs, std::span<const std::byte> In, Decoded &Out) const {
  Reader From(In);
  Out.Views.resize(Specs.size());
  for (size_t I = 0; I < Specs.size(); ++I)
    if (auto Done = From.tensor(Specs[I], Out.Views[I]); !Done)
      return Done;
  return From.end();
}

} // namespace mlcb
