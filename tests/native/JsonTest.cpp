// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of docs/protocol.md, and what a reader of JSON refuses.
#include "Tensors.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace mlcb {
namespace {

using namespace test;

const std::vector<TensorSpec> &Specs = ProtocolExample;

constexpr std::string_view Golden = R"({"scalar":2.0,"mask":[1,0,1],"pairs":{"shape":[2,2],"data":[1,2,-1,260]},"word":"ok"})";

Expected<void> decode(std::string_view Text) { return test::decode("json", Specs, payload(Text)); }

/// The golden text with another piece in the place of one.
std::string goldenWith(std::string_view Piece, std::string_view Other) {
  std::string Text(Golden);
  return Text.replace(Text.find(Piece), Piece.size(), Other);
}

template <class T> std::string textOf(T Value) {
  const std::vector One{tensor("x", dtypeOf<T>(), {})};
  std::vector<std::byte> Out;
  findSerializer("json").value()->encode(One, std::vector<TensorView>{{{}, std::as_bytes(std::span(&Value, 1))}}, Out);
  const std::string_view Text = test::textOf(Out);
  return std::string(Text.substr(5, Text.size() - 6));
}

template <class T> Expected<T> read(std::string_view Text) {
  const std::vector One{tensor("x", dtypeOf<T>(), {})};
  Decoded Out;
  const auto In = payload("{\"x\":" + std::string(Text) + "}");
  auto Done = findSerializer("json").value()->decode(One, In, Out);
  return Done.map([&] {
    T Value;
    std::memcpy(&Value, Out.Views[0].Bytes.data(), sizeof Value);
    return Value;
  });
}

TEST(Json, EncodesToTheDocumentedText) {
  static constexpr float Scalar[] = {2};
  static constexpr int8_t Mask[] = {1, 0, 1};
  static constexpr int16_t Pairs[] = {1, 2, -1, 260};
  std::vector<std::byte> Out;
  findSerializer("json").value()->encode(
      Specs, std::vector<TensorView>{{{}, raw(Scalar)}, {{3}, raw(Mask)}, {{2, 2}, raw(Pairs)}, {{}, raw(std::string_view("ok"))}}, Out);
  EXPECT_EQ(test::textOf(Out), Golden);
}

TEST(Json, OrderAndSpaceAreFree) {
  EXPECT_TRUE(succeeds(decode(R"( { "word" : "\u006fk" , "pairs" : {"data":[], "shape":[0, 2]},
                                    "mask" : [ 1 , 0 ,1 ] , "scalar" : 2 } )")));
}

TEST(Json, FloatsHaveTheirShortestDigitsAndStayFloats) {
  EXPECT_EQ(textOf(0.1F), "0.1");
  EXPECT_EQ(textOf(2.0F), "2.0");
  EXPECT_EQ(textOf(-0.0), "-0.0");
  EXPECT_EQ(textOf(1e30F), "1e+30");
  EXPECT_EQ(textOf(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(textOf(std::nan("")), "\"NaN\"");
  EXPECT_EQ(textOf(-INFINITY), "\"-Infinity\"");
}

TEST(Json, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  std::vector<std::byte> Out;
  findSerializer("json").value()->encode(std::vector{tensor("x", DType::String, {})}, std::vector<TensorView>{{{}, raw(std::string_view("a\xff"))}},
                                         Out);
  EXPECT_EQ(test::textOf(Out), "{\"x\":\"a\xef\xbf\xbd\"}");
}

TEST(Json, DigitsBecomeTheNearestFloatOfTheirType) {
  EXPECT_EQ(read<double>("0.1").value(), 0.1);
  EXPECT_EQ(read<float>("1e-60").value(), 0.0F);
  // Just above the middle between 1 and the next float; to the nearest double it is the middle, and that is 1.
  EXPECT_EQ(read<float>("1.000000059604644775390626").value(), std::nextafter(1.0F, 2.0F));
  EXPECT_EQ(read<float>("1.000000059604644775390625").value(), 1.0F);
  EXPECT_EQ(read<float>("1.401298464324817e-45").value(), std::numeric_limits<float>::denorm_min());
}

TEST(Json, WholeNumbersAreExactAndInRange) {
  EXPECT_EQ(read<int64_t>("9223372036854775807").value(), INT64_MAX);
  EXPECT_EQ(read<int64_t>("-9223372036854775808").value(), INT64_MIN);
  EXPECT_TRUE(isRefused(read<int64_t>("9223372036854775808"), "has 9223372036854775808 among"));
  EXPECT_TRUE(isRefused(read<int8_t>("128"), "tensor x has 128 among its elements, expected int8[]"));
  EXPECT_TRUE(isRefused(read<uint8_t>("-1"), "has -1 among"));
}

TEST(Json, ValueOfAnotherTypeIsRefused) {
  for (const char *Text : {"2.0", "1e0", "true", "null", "\"1\"", "[1]", "{}", "01", "+1", "- 1", "1x"})
    EXPECT_TRUE(isRefused(read<int32_t>(Text), "")) << Text;
  for (const char *Text : {"true", "null", "\"1\"", "\"nan\"", "[1]", "NaN", "inf", "-inf", ".5", "1.", "01", "1e999", "0x1"}) {
    EXPECT_TRUE(isRefused(read<float>(Text), "")) << Text;
    EXPECT_TRUE(isRefused(read<double>(Text), "")) << Text;
  }
  for (const char *Text : {"1", "\"true\"", "null", "tru", "True"})
    EXPECT_TRUE(isRefused(read<bool>(Text), "")) << Text;
  EXPECT_TRUE(isRefused(read<float>("3.5e38"), "has 3.5e38 among its elements, expected float32[]"));
  EXPECT_TRUE(isRefused(decode(goldenWith("\"ok\"", "7")), "tensor word has 7"));
  EXPECT_TRUE(isRefused(decode(goldenWith("\"ok\"", R"("\ud800")")), "tensor word has"));
}

TEST(Json, NameThatIsUnknownDoubleOrMissingIsRefused) {
  EXPECT_TRUE(isRefused(decode(goldenWith("mask", "musk")), "tensor 'musk' came and is not declared"));
  EXPECT_TRUE(isRefused(decode(goldenWith("\"word\":\"ok\"", "\"mask\":[1,0,1]")), "tensor 'mask' came twice"));
  EXPECT_TRUE(isRefused(decode(goldenWith(",\"word\":\"ok\"", "")), "tensor 'word' is missing"));
  EXPECT_TRUE(isRefused(decode("{}"), "tensor 'scalar' is missing"));
}

TEST(Json, OtherSizeThanDeclaredIsRefused) {
  EXPECT_TRUE(isRefused(decode(goldenWith("[1,0,1]", "[1,0]")), "tensor mask has 2 elements"));
  EXPECT_TRUE(isRefused(decode(goldenWith("[1,0,1]", "[1,0,1,1]")), "tensor mask has more than 3"));
  EXPECT_TRUE(isRefused(decode(goldenWith("[1,0,1]", "1")), "tensor mask is no array"));
  for (const char *Shape : {"[5,2]", "[2,3]", "[-1,2]", "[9223372036854775807,2]"})
    EXPECT_TRUE(isRefused(decode(goldenWith("[2,2]", Shape)), "tensor pairs is of shape [")) << Shape;
  EXPECT_TRUE(isRefused(decode(goldenWith("[2,2]", "[2]")), "tensor pairs has 1 dimensions, expected int16[<=4,2]"));
  EXPECT_TRUE(isRefused(decode(goldenWith("[2,2]", "[3,2]")), "tensor pairs has 4 elements for the shape [3,2]"));
}

TEST(Json, VaryingTensorIsOneShapeAndItsData) {
  for (const char *Piece : {"[1,2,-1,260]", "{}", R"({"shape":[2,2]})", R"({"data":[]})", R"({"shape":[0,2],"shape":[0,2]})",
                            R"({"shape":[0,2],"data":[],"data":[]})", R"({"shape":[0,2],"size":[]})"})
    EXPECT_TRUE(isRefused(decode(goldenWith(R"({"shape":[2,2],"data":[1,2,-1,260]})", Piece)), "tensor pairs")) << Piece;
}

TEST(Json, TextThatIsNoJsonIsRefused) {
  const std::string Whole(Golden);
  for (const std::string &Text : {Whole + "}", Whole + "{}", Whole + "x", goldenWith("[1,0,1]", "[1 0 1]"), goldenWith("[1,0,1]", "[1,0,1,]"),
                                  goldenWith("ok", "o\xff"), goldenWith("\"mask\"", "mask"), goldenWith("\"ok\"}", "\"ok\",}"), std::string("[]"),
                                  std::string("7"), std::string(" "), std::string(1, '\0')})
    EXPECT_TRUE(isRefused(decode(Text), "")) << Text;
}

TEST(Json, DepthCostsNothing) {
  const std::string Deep(1 << 20, '[');
  EXPECT_TRUE(isRefused(decode("{\"mask\":" + Deep), ""));
  EXPECT_TRUE(isRefused(decode(goldenWith("[1,0,1]", "[" + Deep + std::string(Deep.size(), ']') + "]")), "tensor mask"));
}

} // namespace
} // namespace mlcb
