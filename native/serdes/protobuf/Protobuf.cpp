// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The messages of tensors.proto.
#include "serdes/NamedTensors.h"
#include "serdes/SerializerModule.h"

#include <algorithm>
#include <cstring>
#include <google/protobuf/io/coded_stream.h>
#include <tensors.pb.h>
#include <utility>

namespace mlcb {
namespace {

using google::protobuf::io::CodedInputStream;

/// A member of Tensors: field 1, a message.
constexpr uint32_t TensorTag = 1 << 3 | 2;

Unexpected malformed() { return fail(ErrorKind::ProtocolError, "the payload is no message of tensors"); }

/// The field for elements of type T.
template <class T> const auto &elements(const Tensor &From) {
  if constexpr (std::is_same_v<T, float>)
    return From.floats();
  else if constexpr (std::is_same_v<T, double>)
    return From.doubles();
  else
    return From.integers();
}

template <class T> auto &elements(Tensor &To) {
  if constexpr (std::is_same_v<T, float>)
    return *To.mutable_floats();
  else if constexpr (std::is_same_v<T, double>)
    return *To.mutable_doubles();
  else
    return *To.mutable_integers();
}

template <class T, class Wide> bool narrow(Wide From, T &To) {
  To = static_cast<T>(From);
  return std::is_floating_point_v<T> || static_cast<Wide>(To) == From;
}

template <class T> void write(std::span<const std::byte> Bytes, Tensor &To) {
  auto &Elements = elements<T>(To);
  Elements.Reserve(static_cast<int>(Bytes.size() / sizeof(T)));
  for (size_t At = 0; At < Bytes.size(); At += sizeof(T)) {
    T Value;
    std::memcpy(&Value, Bytes.data() + At, sizeof(T));
    Elements.AddAlreadyReserved(static_cast<std::decay_t<decltype(Elements)>::value_type>(Value));
  }
}

void write(const TensorSpec &Spec, const TensorView &View, Tensor &To) {
  To.set_name(std::string(Spec.Name));
  To.mutable_shape()->Add(View.Shape.begin(), View.Shape.end());
  if (Spec.Type == DType::String)
    To.set_text(View.Bytes.data(), View.Bytes.size());
  else
    withElementType(Spec.Type, [&]<class T>(T) { write<T>(View.Bytes, To); });
}

template <class T> Expected<void> read(const TensorSpec &Spec, const Tensor &From, std::vector<std::byte> &Storage) {
  const auto &Elements = elements<T>(From);
  const auto Count = static_cast<size_t>(Elements.size());
  if (Count > Spec.maxElements())
    return notAsDeclared(Spec, "has " + std::to_string(Count) + " elements");
  Storage.resize(Count * sizeof(T));
  std::byte *To = Storage.data();
  for (const auto Element : Elements) {
    T Value;
    if (!narrow(Element, Value))
      return notAsDeclared(Spec, "has " + std::to_string(Element) + " among its elements");
    std::memcpy(To, &Value, sizeof(T));
    To += sizeof(T);
  }
  return {};
}

/// Elements in a field that is not that of the declared type.
bool hasOthers(DType Type, const Tensor &From) {
  const bool IsFloat = Type == DType::Float32, IsDouble = Type == DType::Float64, IsText = Type == DType::String;
  return (!IsFloat && From.floats_size()) || (!IsDouble && From.doubles_size()) || (IsText != From.has_text()) ||
         ((IsFloat || IsDouble || IsText) && From.integers_size());
}

Expected<void> read(const TensorSpec &Spec, const Tensor &From, std::vector<std::byte> &Storage) {
  if (hasOthers(Spec.Type, From))
    return notAsDeclared(Spec, "has elements of another type");
  if (Spec.Type != DType::String)
    return withElementType(Spec.Type, [&]<class T>(T) { return read<T>(Spec, From, Storage); });
  const auto Text = std::as_bytes(std::span(From.text()));
  Storage.assign(Text.begin(), Text.end());
  return {};
}

class Protobuf final : public Serializer {
public:
  std::string_view name() const override { return "protobuf"; }

  void encode(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, std::vector<std::byte> &Out) const override {
    Tensors All;
    for (size_t I = 0; I < Specs.size(); ++I)
      write(Specs[I], Views[I], *All.add_tensors());
    Out.resize(All.ByteSizeLong());
    All.SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t *>(Out.data()));
  }

  /// One tensor after another: a message of two bytes would take a hundred in memory, if all were read at once.
  Expected<void> decode(std::span<const TensorSpec> Specs, std::span<const std::byte> In, Decoded &Out) const override {
    if (!std::in_range<int>(In.size()))
      return malformed();
    CodedInputStream From(reinterpret_cast<const uint8_t *>(In.data()), static_cast<int>(In.size()));
    NamedTensors Arrived(Specs, Out);
    Tensor Next;
    size_t Most = 0; // bytes of a member, with 11 for each element and length: parsing makes eight of one byte
    for (const TensorSpec &Spec : Specs)
      Most = std::max(Most, Spec.Type == DType::String ? In.size() : 11 * (Spec.maxElements() + Spec.Shape.size()) + Spec.Name.size() + 64);
    while (const uint32_t Tag = From.ReadTag()) {
      uint32_t Size;
      if (Tag != TensorTag || !From.ReadVarint32(&Size))
        return malformed();
      const auto Rest = In.subspan(static_cast<size_t>(From.CurrentPosition()));
      if (Size > std::min(Rest.size(), Most) || !Next.ParseFromArray(Rest.data(), static_cast<int>(Size)))
        return malformed();
      From.Skip(static_cast<int>(Size));
      if (auto Done = take(Specs, Next, Arrived); !Done)
        return Done;
    }
    return From.ConsumedEntireMessage() ? Arrived.end() : malformed();
  }

private:
  static Expected<void> take(std::span<const TensorSpec> Specs, const Tensor &From, NamedTensors &To) {
    const auto I = To.arrive(From.name());
    if (!I)
      return Unexpected(I.error());
    if (auto Done = read(Specs[*I], From, To.storage(*I)); !Done)
      return Done;
    return To.accept(*I, {From.shape().data(), static_cast<size_t>(From.shape_size())});
  }
};

} // namespace
} // namespace mlcb

const mlcb::Serializer *mlcbSerializerV1() {
  static const mlcb::Protobuf Instance;
  return &Instance;
}
