// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace mlcb {

enum class DType : uint8_t { Int8, Int16, Int32, Int64, UInt8, Float32, Float64, Bool, UInt16, UInt32, UInt64, String };

/// NumPy's name of the type ("float32"); "string" for String.
std::string_view name(DType Type);
std::optional<DType> dtype(std::string_view Name);

/// Bytes of one element; 0 for String.
size_t byteSize(DType Type);

/// The types of the elements, in the order of DType; String is the last.
template <class... Ts> struct TypeList {
  template <class T> static consteval size_t indexOf() {
    size_t Index = 0;
    (void)((std::is_same_v<T, Ts> || (++Index, false)) || ...);
    return Index;
  }
};
using ElementTypes = TypeList<int8_t, int16_t, int32_t, int64_t, uint8_t, float, double, bool, uint16_t, uint32_t, uint64_t, std::string>;

/// A type whose values lie one beside the other in a tensor; a text does not.
template <class T>
concept ElementType = !std::is_same_v<T, std::string>;

template <class T> consteval DType dtypeOf() {
  constexpr size_t Index = ElementTypes::indexOf<T>();
  static_assert(Index <= static_cast<size_t>(DType::String), "not an element type");
  return static_cast<DType>(Index);
}

/// Calls Call(T()) with T the type of the elements; Type must not be String.
template <class F> decltype(auto) withElementType(DType Type, F &&Call) {
  switch (Type) {
  case DType::Int8: return Call(int8_t());
  case DType::Int16: return Call(int16_t());
  case DType::Int32: return Call(int32_t());
  case DType::Int64: return Call(int64_t());
  case DType::UInt8: return Call(uint8_t());
  case DType::Float32: return Call(float());
  case DType::Float64: return Call(double());
  case DType::Bool: return Call(bool());
  case DType::UInt16: return Call(uint16_t());
  case DType::UInt32: return Call(uint32_t());
  case DType::UInt64: return Call(uint64_t());
  case DType::String: break;
  }
  std::abort();
}

} // namespace mlcb
