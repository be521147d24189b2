// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as tensors: they are refused, or kept when written and read again.
#include "serdes/Serializer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace mlcb {
namespace {

Dim fixed(int64_t Size) { return {Dim::Kind::Fixed, Size, {}}; }
Dim atMost(int64_t Size) { return {Dim::Kind::AtMost, Size, {}}; }

TensorSpec tensor(std::string_view Name, DType Type, std::vector<Dim> Shape) { return {Name, Type, std::move(Shape), 0, 0, "", TensorRole::Input}; }

/// Short names, so that the fuzzer finds them.
const std::vector<TensorSpec> &specs() {
  static const std::vector<TensorSpec> Specs{tensor("a", DType::Float32, {}),         tensor("b", DType::Int8, {fixed(2)}),
                                             tensor("c", DType::String, {}),          tensor("d", DType::Int16, {atMost(4), fixed(2)}),
                                             tensor("e", DType::Float64, {fixed(1)}), tensor("f", DType::Bool, {atMost(3)}),
                                             tensor("g", DType::Int64, {}),           tensor("h", DType::UInt8, {fixed(1), fixed(2)}),
                                             tensor("i", DType::Int32, {atMost(9)})};
  return Specs;
}

const Serializer &codec() {
  static const auto Found = findSerializer(MLCB_FUZZED);
  if (Found)
    return **Found;
  std::fprintf(stderr, "%s\n", Found.error().Message.c_str());
  std::abort();
}

/// Aligned, and no longer than it says.
std::vector<std::byte> message(std::span<const uint8_t> Data) {
  const auto Bytes = std::as_bytes(Data);
  return {Bytes.begin(), Bytes.end()};
}

bool same(const TensorView &A, const TensorView &B) { return A.Shape == B.Shape && std::ranges::equal(A.Bytes, B.Bytes); }

void fuzz(std::span<const uint8_t> Data) {
  const auto In = message(Data);
  Decoded First, Second;
  if (!codec().decode(specs(), In, First))
    return;
  std::vector<std::byte> Written;
  codec().encode(specs(), First.Views, Written);
  if (!codec().decode(specs(), Written, Second) || !std::ranges::equal(First.Views, Second.Views, same))
    std::abort();
}

} // namespace
} // namespace mlcb

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  (void)mlcb::codec(); // before the first run, for a module that comes later is not instrumented
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  mlcb::fuzz({Data, Size});
  return 0;
}
