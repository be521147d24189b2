// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One JSON object by tensor name; docs/protocol.md has the format.
#include "serdes/SerializerModule.h"
#include "serdes/json/JsonReader.h"
#include "serdes/json/JsonWriter.h"

namespace mlcb::json {
namespace {

namespace od = simdjson::ondemand;

Expected<void> readObject(std::span<const TensorSpec> Specs, od::object From, Decoded &Out) {
  NamedTensors Tensors(Specs, Out);
  auto Done = forEachMember(From, [&](std::string_view Name, od::value Value) -> Expected<void> {
    const auto I = Tensors.arrive(Name);
    if (!I)
      return Unexpected(I.error());
    const auto Shape = readTensor(Specs[*I], Value, Tensors.storage(*I));
    if (!Shape)
      return Unexpected(Shape.error());
    return Tensors.accept(*I, *Shape);
  });
  return Done ? Tensors.end() : Done;
}

class Json final : public Serializer {
public:
  std::string_view name() const override { return "json"; }

  void encode(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, std::vector<std::byte> &Out) const override {
    Writer To(Out);
    for (size_t I = 0; I < Specs.size(); ++I)
      To.tensor(Specs[I], Views[I]);
    To.end();
  }

  Expected<void> decode(std::span<const TensorSpec> Specs, std::span<const std::byte> In, Decoded &Out) const override {
    const simdjson::padded_string Text(reinterpret_cast<const char *>(In.data()), In.size());
    od::parser Parser;
    od::document Document;
    od::object Object;
    if (auto Why = Parser.iterate(Text).get(Document))
      return malformed(Why);
    if (auto Why = Document.get_object().get(Object))
      return malformed(Why);
    if (auto Done = readObject(Specs, Object, Out); !Done)
      return Done;
    if (Document.current_location().error() != simdjson::OUT_OF_BOUNDS)
      return malformed(simdjson::TRAILING_CONTENT);
    return {};
  }
};

} // namespace
} // namespace mlcb::json

const mlcb::Serializer *mlcbSerializerV1() {
  static const mlcb::json::Json Instance;
  return &Instance;
}
