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

template <class T> consteval DType dtypeOf() {
  if constexpr (std::is_same_v<T, int8_t>)
    return DType::Int8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return DType::Int16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::Int32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::Int64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::UInt8;
  else if constexpr (std::is_same_v<T, float>)
    return DType::Float32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::Float64;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::Bool;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return DType::UInt16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DType::UInt32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return DType::UInt64;
  else {
    static_assert(std::is_same_v<T, std::string>, "not an element type");
    return DType::String;
  }
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
