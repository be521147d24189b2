// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serdes/json/JsonReader.h"

#include "serdes/json/JsonWriter.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace mlcb::json {
namespace {

namespace od = simdjson::ondemand;

constexpr size_t FirstElements = 16;
constexpr size_t MaxToken = 32; // of a stranger's text, in a sentence

Unexpected notAnElement(const TensorSpec &Spec, std::string_view Token) {
  Token = Token.substr(0, Token.find_last_not_of(" \t\r\n") + 1);
  return notAsDeclared(Spec, "has " + std::string(Token.substr(0, MaxToken)) + " among its elements");
}

/// The float nearest to the digits. To round them to a double first goes wrong where that lies halfway between two floats.
bool narrow(double Rounded, std::string_view Digits, float &Value) {
  Value = static_cast<float>(Rounded);
  const bool Halfway = (std::bit_cast<uint64_t>(Rounded) & 0x1fffffff) == 0x10000000;
  if (Halfway || std::abs(Rounded) < std::numeric_limits<float>::min())
    std::from_chars(Digits.data(), Digits.data() + Digits.size(), Value); // leaves it where it has no better
  return std::isfinite(Value);
}

bool narrow(double Rounded, std::string_view, double &Value) {
  Value = Rounded;
  return true;
}

template <std::floating_point T> bool read(od::value From, std::string_view Token, T &Value) {
  if (!Token.starts_with('"')) {
    double Rounded;
    return From.get_double().get(Rounded) == simdjson::SUCCESS && narrow(Rounded, Token, Value);
  }
  std::string_view Word;
  if (From.get_string().get(Word) != simdjson::SUCCESS)
    return false;
  using Limits = std::numeric_limits<T>;
  Value = Word == NotANumber ? Limits::quiet_NaN() : Word == Infinity ? Limits::infinity() : -Limits::infinity();
  return Word == NotANumber || Word == Infinity || Word == MinusInfinity;
}

template <std::integral T> bool read(od::value From, std::string_view, T &Value) {
  int64_t Wide;
  if (From.get_int64().get(Wide) != simdjson::SUCCESS || !std::in_range<T>(Wide))
    return false;
  Value = static_cast<T>(Wide);
  return true;
}

template <> bool read(od::value From, std::string_view, uint64_t &Value) { return From.get_uint64().get(Value) == simdjson::SUCCESS; }

template <> bool read(od::value From, std::string_view, bool &Value) { return From.get_bool().get(Value) == simdjson::SUCCESS; }

template <class T> Expected<void> readElement(const TensorSpec &Spec, od::value From, std::byte *To) {
  const std::string_view Token = From.raw_json_token();
  T Value;
  if (!read(From, Token, Value))
    return notAnElement(Spec, Token);
  std::memcpy(To, &Value, sizeof Value);
  return {};
}

/// Storage grows with what arrives, not with what is declared.
template <class T> Expected<void> readElements(const TensorSpec &Spec, od::value From, std::vector<std::byte> &Storage) {
  od::array Array;
  if (From.get_array().get(Array) != simdjson::SUCCESS)
    return notAsDeclared(Spec, "is no array");
  const size_t Max = Spec.maxElements();
  size_t Count = 0;
  for (auto Next : Array) {
    od::value Element;
    if (auto Why = std::move(Next).get(Element))
      return malformed(Why);
    if (Count == Max)
      return notAsDeclared(Spec, "has more than " + std::to_string(Max) + " elements");
    if (Storage.size() <= Count * sizeof(T))
      Storage.resize(std::min(Max, std::max(FirstElements, 2 * Count)) * sizeof(T));
    if (auto Done = readElement<T>(Spec, Element, Storage.data() + Count++ * sizeof(T)); !Done)
      return Done;
  }
  Storage.resize(Count * sizeof(T));
  return {};
}

Expected<void> readElements(const TensorSpec &Spec, od::value From, std::vector<std::byte> &Storage) {
  return withElementType(Spec.Type, [&]<class T>(T) { return readElements<T>(Spec, From, Storage); });
}

Expected<void> readScalar(const TensorSpec &Spec, od::value From, std::vector<std::byte> &Storage) {
  if (Spec.Type != DType::String) {
    Storage.resize(byteSize(Spec.Type));
    return withElementType(Spec.Type, [&]<class T>(T) { return readElement<T>(Spec, From, Storage.data()); });
  }
  std::string_view Text;
  const std::string_view Token = From.raw_json_token();
  if (From.get_string().get(Text) != simdjson::SUCCESS)
    return notAnElement(Spec, Token);
  const auto Bytes = std::as_bytes(std::span(Text));
  Storage.assign(Bytes.begin(), Bytes.end());
  return {};
}

/// `{"shape": [...], "data": [...]}`, in any order.
Expected<std::vector<int64_t>> readVarying(const TensorSpec &Spec, od::value From, std::vector<std::byte> &Storage) {
  const Dim Rank{Dim::Kind::Fixed, static_cast<int64_t>(Spec.Shape.size()), {}};
  const TensorSpec OfShape{Spec.Name, DType::Int64, {Rank}, 0, 0, {}, Spec.Role};
  std::vector<std::byte> Shape;
  bool HasShape = false, HasData = false;
  od::object Object;
  if (From.get_object().get(Object) != simdjson::SUCCESS)
    return notAsDeclared(Spec, "is no object of a shape and data");
  auto Done = forEachMember(Object, [&](std::string_view Key, od::value Value) -> Expected<void> {
    const bool IsShape = Key == ShapeKey;
    if (std::exchange(IsShape ? HasShape : HasData, true) || (!IsShape && Key != DataKey))
      return notAsDeclared(Spec, "has other members than one shape and one data");
    return IsShape ? readElements(OfShape, Value, Shape) : readElements(Spec, Value, Storage);
  });
  if (!Done)
    return Unexpected(Done.error());
  if (!HasShape || !HasData)
    return notAsDeclared(Spec, "has no shape or no data");
  std::vector<int64_t> Lengths(Shape.size() / sizeof(int64_t));
  std::ranges::copy(Shape, std::as_writable_bytes(std::span(Lengths)).begin());
  return Lengths;
}

} // namespace

Unexpected malformed(simdjson::error_code Why) {
  return fail(ErrorKind::ProtocolError, std::string("the payload is no JSON object of tensors: ") + simdjson::error_message(Why));
}

Expected<std::vector<int64_t>> readTensor(const TensorSpec &Spec, od::value From, std::vector<std::byte> &Storage) {
  Storage.clear();
  if (Spec.varies())
    return readVarying(Spec, From, Storage);
  auto Done = Spec.Shape.empty() ? readScalar(Spec, From, Storage) : readElements(Spec, From, Storage);
  return Done.map([&] { return Spec.maxShape(); });
}

} // namespace mlcb::json
