// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every serializer keeps any type, rank and size, exactly.
#include "Tensors.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

namespace mlcb {
namespace {

using namespace test;

/// A value of every kind that a type has: its bounds, zero, and what is hard to write in digits.
template <class T> std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> Values{Limits::lowest(), Limits::max(), T(), T(1)};
  if constexpr (std::is_floating_point_v<T>)
    Values.insert(Values.end(), {Limits::min(), Limits::denorm_min(), T(-0.0), T(0.1), T(1) / 3, T(1e10), T(16777216), Limits::epsilon(),
                                 Limits::infinity(), -Limits::infinity()});
  return Values;
}

/// Elements of a type, edges first, then bits at random; of a float, those that are numbers.
std::vector<std::byte> elements(DType Type, size_t Count) {
  std::mt19937_64 Random(7);
  std::vector<std::byte> Bytes(Count * byteSize(Type));
  withElementType(Type, [&]<class T>(T) {
    const auto Edges = edges<T>();
    for (size_t I = 0; I < Count; ++I) {
      T Value = I < Edges.size() ? T(Edges[I]) : static_cast<T>(Random());
      const uint64_t Bits = Random();
      if (I >= Edges.size() && !std::is_same_v<T, bool>)
        std::memcpy(&Value, &Bits, sizeof Value);
      if constexpr (std::is_floating_point_v<T>)
        Value = std::isnan(Value) ? T(2) : Value;
      std::memcpy(Bytes.data() + I * sizeof Value, &Value, sizeof Value);
    }
  });
  return Bytes;
}

class Serdes : public testing::TestWithParam<const char *> {
protected:
  const Serializer &Codec = *findSerializer(GetParam()).value();

  std::vector<std::byte> encoded(std::span<const TensorSpec> Specs, std::span<const TensorView> Views) const {
    std::vector<std::byte> Out(7); // what a caller's buffer held before
    Codec.encode(Specs, Views, Out);
    return Out;
  }

  /// The tensors come back as they were, into what held others before.
  void keeps(const std::vector<TensorSpec> &Specs, const std::vector<TensorView> &Views) {
    const auto In = encoded(Specs, Views);
    ASSERT_TRUE(succeeds(Codec.decode(Specs, In, Out))) << textOf(In).substr(0, 300);
    ASSERT_EQ(Out.Views.size(), Views.size());
    for (size_t I = 0; I < Specs.size(); ++I) {
      EXPECT_EQ(Out.Views[I].Shape, Views[I].Shape) << Specs[I].Name;
      EXPECT_TRUE(std::ranges::equal(Out.Views[I].Bytes, Views[I].Bytes)) << Specs[I].Name;
    }
  }

  Decoded Out;
};

INSTANTIATE_TEST_SUITE_P(, Serdes, testing::Values("bitstream", "json", "protobuf"), [](const auto &Info) { return std::string(Info.param); });

/// A declared shape, and a true one that it allows.
struct Form {
  std::vector<Dim> Declared;
  std::vector<int64_t> True;
};

const Form Forms[] = {
    {{}, {}},
    {{fixed(64)}, {64}},
    {{fixed(0)}, {0}},
    {{fixed(2), fixed(3), fixed(5), fixed(1)}, {2, 3, 5, 1}},
    {{fixed(3), fixed(0)}, {3, 0}},
    {{atMost(100)}, {33}},
    {{atMost(100)}, {100}},
    {{atMost(100)}, {0}},
    {{fixed(2), atMost(40)}, {2, 17}},
    {{atMost(5), atMost(7), fixed(2)}, {0, 3, 2}},
    {{atMost(9), fixed(4)}, {3, 4}},
};

TEST_P(Serdes, EveryTypeAndShapeIsKept) {
  for (uint8_t Code = 0; Code < static_cast<uint8_t>(DType::String); ++Code)
    for (const Form &F : Forms) {
      const auto Type = static_cast<DType>(Code);
      size_t Count = 1;
      for (int64_t Length : F.True)
        Count *= static_cast<size_t>(Length);
      const auto Bytes = elements(Type, Count);
      keeps({tensor("x", Type, F.Declared)}, {{F.True, Bytes}});
    }
}

TEST_P(Serdes, ManyTensorsKeepTheirPlaces) {
  const auto Mask = elements(DType::Int8, 3), Scalar = elements(DType::Int64, 1), List = elements(DType::Float32, 9);
  keeps({tensor("mask", DType::Int8, {fixed(3)}), tensor("word", DType::String, {}), tensor("scalar", DType::Int64, {}),
         tensor("list", DType::Float32, {atMost(9)}), tensor("nothing", DType::String, {})},
        {{{3}, Mask}, {{}, raw(std::string_view("a\"\\\n\x01 \xc3\xa4\xf0\x9f\x98\x80"))}, {{}, Scalar}, {{9}, List}, {{}, {}}});
}

TEST_P(Serdes, NoTensorsAreAMessageToo) { keeps({}, {}); }

TEST_P(Serdes, LaterAndShorterMessagesReplaceEarlierOnes) {
  const std::vector Specs{tensor("x", DType::Int32, {atMost(8)})};
  for (int64_t Length : {8, 0, 3})
    keeps(Specs, {{{Length}, elements(DType::Int32, static_cast<size_t>(Length))}});
}

TEST_P(Serdes, NotANumberStaysOne) {
  const std::vector Specs{tensor("f", DType::Float32, {}), tensor("d", DType::Float64, {})};
  const float Single[] = {std::nanf("")};
  const double Double[] = {std::nan("")};
  const auto In = encoded(Specs, std::vector<TensorView>{{{}, raw(Single)}, {{}, raw(Double)}});
  ASSERT_TRUE(succeeds(Codec.decode(Specs, In, Out)));
  EXPECT_TRUE(std::isnan(*reinterpret_cast<const float *>(Out.Views[0].Bytes.data())));
  EXPECT_TRUE(std::isnan(*reinterpret_cast<const double *>(Out.Views[1].Bytes.data())));
}

TEST_P(Serdes, EveryTruncationIsRefused) {
  const std::vector Specs{tensor("a", DType::Float32, {fixed(3)}), tensor("b", DType::String, {}), tensor("c", DType::Int16, {atMost(4), fixed(2)})};
  const auto A = elements(DType::Float32, 3), C = elements(DType::Int16, 4);
  const auto Whole = encoded(Specs, std::vector<TensorView>{{{3}, A}, {{}, raw(std::string_view("ok"))}, {{2, 2}, C}});
  for (size_t Size = 0; Size < Whole.size(); ++Size)
    EXPECT_TRUE(isRefused(Codec.decode(Specs, std::span(Whole).first(Size), Out), "")) << Size;
}

TEST(FindSerializer, NameOfNoneSaysWhatIsMissing) {
  EXPECT_TRUE(failsWith(findSerializer("xml"), ErrorKind::InvalidArgument, "there is no libmlcb_serdes_xml.so"));
}

TEST(FindSerializer, NameFromAStrangerIsNoPath) {
  for (const char *Name : {"", "../json", "/tmp/x", "json.so", "JSON"})
    EXPECT_TRUE(failsWith(findSerializer(Name), ErrorKind::InvalidArgument, "expected lower-case letters")) << Name;
}

TEST(FindSerializer, ModuleOfAnotherKindIsRefused) {
  const std::string Folder = testing::TempDir() + "mlcb-serializers", Before = ::getenv("MLCB_SERIALIZERS");
  std::filesystem::create_directories(Folder);
  std::ofstream(Folder + "/libmlcb_serdes_broken.so") << "no shared object";
  ::setenv("MLCB_SERIALIZERS", Folder.c_str(), 1);
  EXPECT_TRUE(failsWith(findSerializer("broken"), ErrorKind::InvalidArgument, "libmlcb_serdes_broken.so"));
  ::setenv("MLCB_SERIALIZERS", Before.c_str(), 1);
  std::filesystem::remove_all(Folder);
}

} // namespace
} // namespace mlcb
