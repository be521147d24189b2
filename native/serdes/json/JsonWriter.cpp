// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serdes/json/JsonWriter.h"

#include "spec/Json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace mlcb::json {
namespace {

/// Characters of one element at most, its comma included: a float's sign, point, exponent and ".0" come on top of its digits.
template <class T> constexpr ptrdiff_t MaxText = std::numeric_limits<T>::max_digits10 + 11;
template <std::integral T> constexpr ptrdiff_t MaxText<T> = std::numeric_limits<T>::digits10 + 6;

char *copy(std::string_view Text, char *To) { return std::ranges::copy(Text, To).out; }

/// A whole number has its ".0": what is a float here must be one to a reader that goes by looks.
template <std::floating_point T> char *write(T Value, char *To) {
  if (!std::isfinite(Value))
    return copy("\"" + std::string(std::isnan(Value) ? NotANumber : Value > 0 ? Infinity : MinusInfinity) + "\"", To);
  char *const End = std::to_chars(To, To + MaxText<T>, Value).ptr;
  const bool Whole = std::all_of(To, End, [](char C) { return C == '-' || (C >= '0' && C <= '9'); });
  return Whole ? copy(".0", End) : End;
}

template <std::integral T> char *write(T Value, char *To) { return std::to_chars(To, To + MaxText<T>, Value).ptr; }

template <> char *write(bool Value, char *To) { return copy(Value ? "true" : "false", To); }

std::string_view textOf(std::span<const std::byte> Bytes) { return {reinterpret_cast<const char *>(Bytes.data()), Bytes.size()}; }

} // namespace

void Writer::text(std::string_view Text) {
  const auto Bytes = std::as_bytes(std::span(Text));
  Out.insert(Out.end(), Bytes.begin(), Bytes.end());
}

void Writer::string(std::string_view Text) { text(dumpJson(Text)); }

void Writer::key(std::string_view Before, std::string_view Name) {
  text(Before);
  string(Name);
  text(":");
}

/// Separated by commas.
template <class T> void Writer::elements(std::span<const std::byte> Bytes) {
  const size_t Start = Out.size(), Count = Bytes.size() / sizeof(T);
  Out.resize(Start + Count * static_cast<size_t>(MaxText<T>));
  char *const Begin = reinterpret_cast<char *>(Out.data() + Start);
  char *To = Begin;
  for (size_t I = 0; I < Count; ++I) {
    if (I != 0)
      *To++ = ',';
    T Value;
    std::memcpy(&Value, Bytes.data() + I * sizeof(T), sizeof(T));
    To = write(Value, To);
  }
  Out.resize(Start + static_cast<size_t>(To - Begin));
}

void Writer::elements(DType Type, std::span<const std::byte> Bytes) {
  withElementType(Type, [&]<class T>(T) { elements<T>(Bytes); });
}

void Writer::tensor(const TensorSpec &Spec, const TensorView &View) {
  key(First ? "{" : ",", Spec.Name);
  First = false;
  if (Spec.Type == DType::String)
    return string(textOf(View.Bytes));
  if (Spec.Shape.empty())
    return elements(Spec.Type, View.Bytes);
  const bool Varies = Spec.varies();
  if (Varies) {
    key("{", ShapeKey);
    text("[");
    elements(DType::Int64, std::as_bytes(std::span(View.Shape)));
    text("]");
    key(",", DataKey);
  }
  text("[");
  elements(Spec.Type, View.Bytes);
  text(Varies ? "]}" : "]");
}

void Writer::end() { text(First ? "{}" : "}"); }

} // namespace mlcb::json
