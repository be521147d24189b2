// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes of docs/protocol.md, written by hand, and what decoding refuses.
#include "serdes/Bitstream.h"
#include "Tensors.h"

#include <cstring>

namespace mlcb {
namespace {

using namespace test;

const std::vector<TensorSpec> &Specs = ProtocolExample;

// clang-format off
const std::vector<std::byte> Golden = bytes({
    0x00, 0x00, 0xc0, 0x3f,   0, 0, 0, 0,      // 1.5f, padding
    1, 0, 1,                  0, 0, 0, 0, 0,   // mask, padding
    2, 0, 0, 0, 0, 0, 0, 0,                    // true length of the varying dimension
    1, 0, 2, 0, 0xff, 0xff, 4, 1,              // {1, 2}, {-1, 260}
    2, 0, 0, 0, 0, 0, 0, 0,   'o', 'k',        // bytes of the string, the string
});
// clang-format on

std::vector<std::byte> encoded() {
  static constexpr float Scalar[] = {1.5F};
  static constexpr int8_t Mask[] = {1, 0, 1};
  static constexpr int16_t Pairs[] = {1, 2, -1, 260};
  const std::vector<TensorView> Views{{{}, raw(Scalar)}, {{3}, raw(Mask)}, {{2, 2}, raw(Pairs)}, {{}, raw(std::string_view("ok"))}};
  std::vector<std::byte> Out(7); // what a caller's buffer held before
  Bitstream().encode(Specs, Views, Out);
  return Out;
}

Expected<void> decode(std::span<const std::byte> In) {
  Decoded Out;
  return Bitstream().decode(Specs, In, Out);
}

/// The golden bytes with another 64-bit number at an offset.
std::vector<std::byte> goldenWith(size_t Offset, int64_t Value) {
  auto Changed = Golden;
  std::memcpy(Changed.data() + Offset, &Value, sizeof Value);
  return Changed;
}

TEST(Bitstream, EncodesToTheDocumentedBytes) { EXPECT_EQ(encoded(), Golden); }

TEST(Bitstream, DecodesTheDocumentedBytesWithoutCopying) {
  Decoded Out;
  ASSERT_TRUE(succeeds(Bitstream().decode(Specs, Golden, Out)));
  const auto &Views = Out.Views;
  ASSERT_EQ(Views.size(), 4u);
  EXPECT_EQ(Views[1].Bytes.data(), Golden.data() + 8);
  EXPECT_EQ(Views[1].Bytes.size(), 3u);
  EXPECT_EQ(Views[2].Shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(Views[2].Bytes.data(), Golden.data() + 24);
  EXPECT_EQ(Views[3].Bytes.size(), 2u);
}

TEST(Bitstream, EmptyVaryingTensorIsItsLengthAlone) {
  const std::vector Lists{tensor("list", DType::Int64, {atMost(4)})};
  std::vector<std::byte> Out;
  Bitstream().encode(Lists, std::vector<TensorView>{{{0}, {}}}, Out);
  EXPECT_EQ(Out, bytes({0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Bitstream, LeavesLargeTensorsWhereTheyAre) {
  const std::vector Three{tensor("before", DType::Int8, {fixed(3)}), tensor("large", DType::Int8, {atMost(5000)}),
                          tensor("after", DType::Int16, {fixed(2)})};
  const auto Large = std::vector(3001, std::byte{7});
  const auto Before = bytes({1, 2, 3}), After = bytes({4, 0, 5, 0});
  const std::vector<TensorView> Views{{{3}, Before}, {{3001}, Large}, {{2}, After}};
  std::vector<std::byte> Whole, Joined;
  Encoded Parts;
  Bitstream().encode(Three, Views, Whole);
  Bitstream().gather(Three, Views, Parts);
  ASSERT_EQ(Parts.Pieces.size(), 3u);
  EXPECT_EQ(Parts.Pieces[1].data(), Large.data());
  for (const auto &Piece : Parts.Pieces)
    Joined.insert(Joined.end(), Piece.begin(), Piece.end());
  EXPECT_EQ(Joined, Whole);
  Decoded Out;
  ASSERT_TRUE(succeeds(Bitstream().decode(Three, Whole, Out)));
  EXPECT_TRUE(std::ranges::equal(Out.Views[1].Bytes, Large) && std::ranges::equal(Out.Views[2].Bytes, After));
}

TEST(Bitstream, EveryTruncationIsRefused) {
  for (size_t Size = 0; Size < Golden.size(); ++Size)
    EXPECT_TRUE(failsWith(decode(std::span(Golden).first(Size)), ErrorKind::ProtocolError, "")) << Size;
  EXPECT_TRUE(failsWith(decode(std::span(Golden).first(10)), ErrorKind::ProtocolError, "tensor mask needs 3 bytes, the payload has 2 left"));
}

TEST(Bitstream, SurplusIsRefused) {
  auto Longer = Golden;
  Longer.push_back({});
  EXPECT_TRUE(failsWith(decode(Longer), ErrorKind::ProtocolError, "the payload has 43 bytes, its tensors 42"));
}

TEST(Bitstream, LengthBeyondTheDeclaredMaximumIsRefused) {
  for (int64_t Length : {int64_t(-1), int64_t(5), INT64_MAX, INT64_MIN})
    EXPECT_TRUE(failsWith(decode(goldenWith(16, Length)), ErrorKind::ProtocolError, "tensor pairs has a length of")) << Length;
}

TEST(Bitstream, StringBeyondThePayloadIsRefused) {
  EXPECT_TRUE(failsWith(decode(goldenWith(32, 3)), ErrorKind::ProtocolError, "tensor word needs 3 bytes"));
  EXPECT_TRUE(failsWith(decode(goldenWith(32, INT64_MAX)), ErrorKind::ProtocolError, "tensor word has a length of"));
}

TEST(Bitstream, IsFoundByItsName) { EXPECT_EQ(findSerializer("bitstream").value(), &defaultSerializer()); }

} // namespace
} // namespace mlcb
