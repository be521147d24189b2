// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Specs and values for the tests of serializers.
#pragma once

#include "Support.h"
#include "serdes/Serializer.h"

namespace mlcb::test {

inline Dim fixed(int64_t Size) { return {Dim::Kind::Fixed, Size, {}}; }
inline Dim atMost(int64_t Size) { return {Dim::Kind::AtMost, Size, {}}; }

inline TensorSpec tensor(std::string_view Name, DType Type, std::vector<Dim> Shape) {
  return {Name, Type, std::move(Shape), 0, 0, "", TensorRole::Input};
}

/// The example of docs/protocol.md, in bytes and as JSON.
inline const std::vector<TensorSpec> ProtocolExample{
    tensor("scalar", DType::Float32, {}),
    tensor("mask", DType::Int8, {fixed(3)}),
    tensor("pairs", DType::Int16, {atMost(4), fixed(2)}),
    tensor("word", DType::String, {}),
};

template <class T> std::span<const std::byte> raw(const T &Values) { return std::as_bytes(std::span(Values)); }

inline std::string_view textOf(std::span<const std::byte> Bytes) { return {reinterpret_cast<const char *>(Bytes.data()), Bytes.size()}; }

/// Bytes as a message brings them.
inline std::vector<std::byte> payload(std::string_view Text) {
  const auto Bytes = raw(Text);
  return {Bytes.begin(), Bytes.end()};
}

/// Expects an error that names the difference from the declaration.
template <class T> testing::AssertionResult isRefused(const Expected<T> &Result, std::string_view Part) {
  return failsWith(Result, ErrorKind::ProtocolError, Part);
}

inline Expected<void> decode(std::string_view Serializer, std::span<const TensorSpec> Specs, std::span<const std::byte> In) {
  Decoded Out;
  return findSerializer(Serializer).value()->decode(Specs, In, Out);
}

} // namespace mlcb::test
