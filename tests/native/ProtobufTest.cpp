// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of tensors.proto, written by hand, and what decoding refuses.
#include "Tensors.h"

namespace mlcb {
namespace {

using namespace test;

const std::vector<TensorSpec> Specs{
    tensor("a", DType::Float32, {}),
    tensor("b", DType::Int8, {fixed(3)}),
    tensor("c", DType::String, {}),
    tensor("d", DType::Bool, {atMost(2)}),
};

// A tensor is field 1; in it the name is field 1, the shape 2, integers 3 (zigzag), floats 4, doubles 5, a text 6.
const auto A = bytes({0x0a, 9, 0x0a, 1, 'a', 0x22, 4, 0x00, 0x00, 0xc0, 0x3f});
const auto B = bytes({0x0a, 11, 0x0a, 1, 'b', 0x12, 1, 3, 0x1a, 3, 2, 0, 1}); // 1, 0, -1
const auto C = bytes({0x0a, 7, 0x0a, 1, 'c', 0x32, 2, 'o', 'k'});
const auto D = bytes({0x0a, 10, 0x0a, 1, 'd', 0x12, 1, 2, 0x1a, 2, 2, 0}); // true, false

std::vector<std::byte> joined(std::initializer_list<std::vector<std::byte>> Parts) {
  std::vector<std::byte> All;
  for (const auto &Part : Parts)
    All.insert(All.end(), Part.begin(), Part.end());
  return All;
}

Expected<void> decode(std::initializer_list<std::vector<std::byte>> Parts) { return test::decode("protobuf", Specs, joined(Parts)); }

TEST(Protobuf, EncodesToTheDocumentedBytes) {
  static constexpr float One[] = {1.5F};
  static constexpr int8_t Three[] = {1, 0, -1};
  static constexpr bool Two[] = {true, false};
  std::vector<std::byte> Out;
  findSerializer("protobuf")
      .value()
      ->encode(Specs, std::vector<TensorView>{{{}, raw(One)}, {{3}, raw(Three)}, {{}, raw(std::string_view("ok"))}, {{2}, raw(Two)}}, Out);
  EXPECT_EQ(Out, joined({A, B, C, D}));
}

TEST(Protobuf, OrderIsFreeAndNumbersNeedNotBePacked) {
  EXPECT_TRUE(succeeds(decode({D, C, B, A})));
  EXPECT_TRUE(succeeds(decode({A, bytes({0x0a, 11, 0x0a, 1, 'b', 0x10, 3, 0x18, 2, 0x18, 0, 0x18, 1}), C, D})));
}

TEST(Protobuf, NameThatIsUnknownDoubleOrMissingIsRefused) {
  EXPECT_TRUE(isRefused(decode({A, B, C}), "tensor 'd' is missing"));
  EXPECT_TRUE(isRefused(decode({A, B, B}), "tensor 'b' came twice"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 3, 0x0a, 1, 'e'})}), "tensor 'e' came and is not declared"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 0})}), "tensor '' came and is not declared"));
}

TEST(Protobuf, ElementsOfAnotherTypeAreRefused) {
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 6, 0x0a, 1, 'a', 0x1a, 1, 2})}), "tensor a has elements of another type, expected float32[]"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 6, 0x0a, 1, 'b', 0x32, 1, 'x'})}), "tensor b has elements of another"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 6, 0x0a, 1, 'c', 0x1a, 1, 2})}), "tensor c has elements of another"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 3, 0x0a, 1, 'c'})}), "tensor c has elements of another"));
}

TEST(Protobuf, NumberBeyondItsTypeIsRefused) {
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 12, 0x0a, 1, 'b', 0x12, 1, 3, 0x1a, 4, 2, 0, 0x80, 2})}),
                        "tensor b has 128 among its elements, expected int8[3]"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 9, 0x0a, 1, 'd', 0x12, 1, 1, 0x1a, 1, 4})}), "tensor d has 2 among its elements, expected bool[<=2]"));
}

TEST(Protobuf, OtherSizeThanDeclaredIsRefused) {
  EXPECT_TRUE(
      isRefused(decode({bytes({0x0a, 10, 0x0a, 1, 'b', 0x12, 1, 3, 0x1a, 2, 2, 0})}), "tensor b has 2 elements for the shape [3], expected int8[3]"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 10, 0x0a, 1, 'b', 0x12, 1, 2, 0x1a, 2, 2, 0})}), "tensor b is of shape [2]"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 12, 0x0a, 1, 'b', 0x12, 1, 3, 0x1a, 4, 2, 0, 0, 0})}), "tensor b has 4 elements, expected int8[3]"));
  EXPECT_TRUE(isRefused(decode({bytes({0x0a, 3, 0x0a, 1, 'b'})}), "tensor b has 0 dimensions"));
}

TEST(Protobuf, BytesThatAreNoMessageAreRefused) {
  for (const auto &Foreign : {bytes({0}), bytes({0x0a, 0x7f}), bytes({0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}), bytes({0x12, 0}), bytes({0x0a, 1, 7}),
                              bytes({0x0a, 2, 0x0a, 5}), bytes({0x0b, 0x0c})})
    EXPECT_TRUE(isRefused(decode({Foreign}), "no message of tensors"));
}

TEST(Protobuf, NameNeedNotBeUtf8) { EXPECT_TRUE(isRefused(decode({bytes({0x0a, 3, 0x0a, 1, 0xff})}), "came and is not declared")); }

} // namespace
} // namespace mlcb
