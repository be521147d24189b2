// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serdes/Bitstream.h"

#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "the wire is little endian; this code copies raw memory");

namespace mlcb {
namespace {

constexpr size_t alignUp(size_t Offset) { return (Offset + 7) & ~size_t(7); }

/// Lengths that precede a tensor's bytes.
size_t lengthCount(const TensorSpec &Spec) {
  size_t Count = Spec.Type == DType::String;
  for (const Dim &D : Spec.Shape)
    Count += D.varies();
  return Count;
}

size_t encodedSize(std::span<const TensorSpec> Specs, std::span<const TensorView> Views) {
  size_t Size = 0;
  for (size_t I = 0; I < Specs.size(); ++I)
    Size = alignUp(Size) + lengthCount(Specs[I]) * sizeof(int64_t) + Views[I].Bytes.size();
  return Size;
}

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
    return fail(ErrorKind::ProtocolError, "the payload has " + std::to_string(In.size()) + " bytes, its tensors " +
                                              std::to_string(Offset));
  }

private:
  Expected<int64_t> length(const TensorSpec &Spec, int64_t Max) {
    TensorView Raw;
    if (auto Done = bytes(Spec, sizeof(int64_t), Raw); !Done)
      return Unexpected(Done.error());
    int64_t Value;
    std::memcpy(&Value, Raw.Bytes.data(), sizeof Value);
    if (Value < 0 || Value > Max)
      return fail(ErrorKind::ProtocolError, "tensor " + std::string(Spec.Name) + " has a length of " +
                                                std::to_string(Value) + ", expected 0 to " + std::to_string(Max));
    return Value;
  }

  Expected<void> bytes(const TensorSpec &Spec, size_t Count, TensorView &View) {
    if (Count > In.size() - Offset)
      return fail(ErrorKind::ProtocolError, "tensor " + std::string(Spec.Name) + " needs " + std::to_string(Count) +
                                                " bytes, the payload has " + std::to_string(In.size() - Offset) +
                                                " left");
    View.Bytes = In.subspan(Offset, Count);
    Offset += Count;
    return {};
  }

  std::span<const std::byte> In;
  size_t Offset = 0;
};

} // namespace

void Bitstream::encode(std::span<const TensorSpec> Specs, std::span<const TensorView> Views,
                       std::vector<std::byte> &Out) const {
  Out.assign(encodedSize(Specs, Views), std::byte{});
  size_t Offset = 0;
  auto Append = [&](const void *From, size_t Count) {
    if (Count)
      std::memcpy(Out.data() + Offset, From, Count);
    Offset += Count;
  };
  for (size_t I = 0; I < Specs.size(); ++I) {
    Offset = alignUp(Offset);
    for (size_t D = 0; D < Specs[I].Shape.size(); ++D)
      if (Specs[I].Shape[D].varies())
        Append(&Views[I].Shape[D], sizeof(int64_t));
    const int64_t Bytes = static_cast<int64_t>(Views[I].Bytes.size());
    if (Specs[I].Type == DType::String)
      Append(&Bytes, sizeof Bytes);
    Append(Views[I].Bytes.data(), Views[I].Bytes.size());
  }
}

Expected<void> Bitstream::decode(std::span<const TensorSpec> Specs, std::span<const std::byte> In,
                                 Decoded &Out) const {
  Reader From(In);
  Out.Views.resize(Specs.size());
  for (size_t I = 0; I < Specs.size(); ++I)
    if (auto Done = From.tensor(Specs[I], Out.Views[I]); !Done)
      return Done;
  return From.end();
}

} // namespace mlcb
