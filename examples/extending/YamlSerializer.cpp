// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `yaml`, a serializer that a human can read: one class, and one line that registers it. For float32 tensors of fixed shapes.
#include <mlcb/serdes/Serializer.h>

#include <charconv>
#include <cstring>

namespace {

using namespace mlcb;

std::string_view takeLine(std::string_view &Text) {
  const size_t End = std::min(Text.find('\n'), Text.size());
  const std::string_view Line = Text.substr(0, End);
  Text.remove_prefix(std::min(End + 1, Text.size()));
  return Line;
}

class YamlSerializer final : public Serializer {
public:
  std::string_view name() const override { return "yaml"; }

  void encode(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, std::vector<std::byte> &Out) const override {
    std::string Text;
    for (size_t I = 0; I < Specs.size(); ++I) {
      Text += std::string(Specs[I].Name) + ":\n";
      for (size_t At = 0; At < Views[I].Bytes.size(); At += sizeof(float)) {
        float Value;
        std::memcpy(&Value, Views[I].Bytes.data() + At, sizeof Value);
        char Digits[32];
        Text += "- " + std::string(Digits, std::to_chars(Digits, std::end(Digits), Value).ptr) + "\n";
      }
    }
    const auto Bytes = std::as_bytes(std::span(Text));
    Out.assign(Bytes.begin(), Bytes.end());
  }

  Expected<void> decode(std::span<const TensorSpec> Specs, std::span<const std::byte> In, Decoded &Out) const override {
    Out.Storage.resize(Specs.size());
    Out.Views.resize(Specs.size());
    std::string_view Text(reinterpret_cast<const char *>(In.data()), In.size());
    for (size_t I = 0; I < Specs.size(); ++I) {
      if (takeLine(Text) != std::string(Specs[I].Name) + ":")
        return wrong(Specs[I], "is missing");
      std::vector<float> Values;
      while (Text.starts_with("- "))
        if (const auto Line = takeLine(Text).substr(2);
            std::from_chars(Line.data(), Line.data() + Line.size(), Values.emplace_back()).ptr != Line.data() + Line.size())
          return wrong(Specs[I], "has an element that is no number");
      if (Specs[I].Type != DType::Float32 || Values.size() != Specs[I].maxElements())
        return wrong(Specs[I], "has another type or shape");
      const auto Bytes = std::as_bytes(std::span(Values));
      Out.Storage[I].assign(Bytes.begin(), Bytes.end());
      Out.Views[I] = {Specs[I].maxShape(), Out.Storage[I]};
    }
    return {};
  }

private:
  static Unexpected wrong(const TensorSpec &Spec, const std::string &Why) {
    return fail(ErrorKind::ProtocolError, "tensor " + std::string(Spec.Name) + " " + Why);
  }
};

const YamlSerializer Yaml;
const SerializerRegistration Registered(Yaml);

} // namespace
