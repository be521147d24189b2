// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serdes/NamedTensors.h"

#include <algorithm>

namespace mlcb {
namespace {

constexpr size_t MaxName = 64; // of a stranger's name, in a sentence

std::string join(std::span<const int64_t> Shape) {
  std::string Text;
  for (int64_t Size : Shape)
    Text += (Text.empty() ? "" : ",") + std::to_string(Size);
  return Text;
}

} // namespace

std::string typeAndShape(const TensorSpec &Spec) {
  std::string Text;
  for (const Dim &D : Spec.Shape)
    Text += (Text.empty() ? "" : ",") + std::string(D.varies() ? "<=" : "") + std::to_string(D.Size);
  return std::string(name(Spec.Type)) + "[" + Text + "]";
}

Unexpected notAsDeclared(const TensorSpec &Spec, const std::string &What) {
  return fail(ErrorKind::ProtocolError, "tensor " + std::string(Spec.Name) + " " + What + ", expected " + typeAndShape(Spec));
}

NamedTensors::NamedTensors(std::span<const TensorSpec> Specs, Decoded &Into) : Specs(Specs), Into(Into), Here(Specs.size()) {
  Into.Views.resize(Specs.size());
  Into.Storage.resize(Specs.size());
}

Expected<size_t> NamedTensors::arrive(std::string_view Name) {
  const auto Found = std::ranges::find(Specs, Name, &TensorSpec::Name);
  const auto I = static_cast<size_t>(Found - Specs.begin());
  if (Found == Specs.end() || Here[I])
    return fail(ErrorKind::ProtocolError,
                "tensor '" + std::string(Name.substr(0, MaxName)) + "' came " + (Found == Specs.end() ? "and is not declared" : "twice"));
  Here[I] = true;
  return I;
}

Expected<void> NamedTensors::accept(size_t I, std::span<const int64_t> Shape) {
  const TensorSpec &Spec = Specs[I];
  if (Shape.size() != Spec.Shape.size())
    return notAsDeclared(Spec, "has " + std::to_string(Shape.size()) + " dimensions");
  if (!Spec.allows(Shape))
    return notAsDeclared(Spec, "is of shape [" + join(Shape) + "]");
  size_t Elements = 1;
  for (int64_t Size : Shape)
    Elements *= static_cast<size_t>(Size); // no overflow: each is at most what binding has checked
  const std::vector<std::byte> &Bytes = storage(I);
  if (Spec.Type != DType::String && Bytes.size() != Elements * byteSize(Spec.Type))
    return notAsDeclared(Spec, "has " + std::to_string(Bytes.size() / byteSize(Spec.Type)) + " elements for the shape [" + join(Shape) + "]");
  Into.Views[I].Shape.assign(Shape.begin(), Shape.end());
  Into.Views[I].Bytes = Bytes;
  return {};
}

Expected<void> NamedTensors::end() const {
  for (size_t I = 0; I < Specs.size(); ++I)
    if (!Here[I])
      return fail(ErrorKind::ProtocolError, "tensor '" + std::string(Specs[I].Name) + "' is missing");
  return {};
}

} // namespace mlcb
