// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/MlgoEnd.h"

#include <algorithm>
#include <cstring>

namespace mlcb {
namespace {

bool isFloat(DType Type) { return Type == DType::Float32 || Type == DType::Float64; }

std::vector<int64_t> withoutOnes(const TensorSpec &Tensor) {
  auto Shape = Tensor.maxShape();
  std::erase(Shape, 1);
  return Shape;
}

bool fits(const TensorSpec &Sent, const TensorSpec &Declared) {
  const bool Typed = Sent.Type == Declared.Type || (Declared.Role == TensorRole::Mask && !isFloat(Sent.Type));
  return Typed && !Declared.varies() && withoutOnes(Sent) == withoutOnes(Declared);
}

/// Where LLVM sends a declared tensor: by its name, or, of a mask whose name it does not know, as the "mask" that its own advisors have.
template <class Range> auto find(Range &Features, const TensorSpec &Declared) {
  const auto Named = std::ranges::find(Features, Declared.Name, &TensorSpec::Name);
  if (Named != Features.end() || Declared.Role != TensorRole::Mask)
    return Named;
  return std::ranges::find(Features, "mask", &TensorSpec::Name);
}

/// The task as its compiler would declare it: as we do where that comes to the same.
BoundSpec asSent(const MlgoHeader &Header, const BoundSpec &Spec) {
  BoundSpec Sent = Spec;
  auto &Inputs = Sent.Task.Agents[0].Inputs;
  std::vector<TensorSpec> Others = Header.Features;
  std::erase_if(Inputs, [&](TensorSpec &Declared) {
    const auto Found = find(Others, Declared);
    if (Found == Others.end())
      return Declared.Role != TensorRole::Mask && Declared.maxElements() != 0;
    if (!fits(*Found, Declared))
      Declared = *Found;
    Others.erase(Found);
    return false;
  });
  Inputs.insert(Inputs.end(), Others.begin(), Others.end());
  return Sent;
}

bool sameInputs(const BoundSpec &A, const BoundSpec &B) {
  const auto Same = [](const TensorSpec &X, const TensorSpec &Y) { return X.Name == Y.Name && X.Type == Y.Type && X.maxShape() == Y.maxShape(); };
  return std::ranges::equal(A.Task.Agents[0].Inputs, B.Task.Agents[0].Inputs, Same);
}

Unexpected mismatch(const BoundSpec &Spec, const std::string &What) {
  return fail(ErrorKind::SpecMismatch, std::string(Spec.Task.Name) + ": " + What);
}

Expected<void> check(const MlgoHeader &Header, const BoundSpec &Spec) {
  if (Spec.Task.Agents.size() != 1)
    return mismatch(Spec, "it has " + std::to_string(Spec.Task.Agents.size()) + " agents, LLVM's own advisors are one");
  if (const BoundSpec Sent = asSent(Header, Spec); !sameInputs(Sent, Spec))
    return fail(ErrorKind::SpecMismatch, describeMismatch(Sent.toJson(), Spec.toJson()));
  const AdviceSpec &Given = Spec.Task.Agents[0].Advice;
  const bool Value = Given.Kind == AdviceKind::Value;
  if (!Header.Advice || Header.Advice->maxElements() != 1 || isFloat(Header.Advice->Type) != Value)
    return mismatch(Spec, "compiler asks for " +
                              (Header.Advice ? "advice '" + std::string(Header.Advice->Name) + "' of " +
                                                   std::to_string(Header.Advice->maxElements()) + " " + std::string(name(Header.Advice->Type))
                                             : std::string("no advice")) +
                              ", this build gives " + (Value ? "a value" : "an index"));
  return {};
}

template <class T> std::vector<std::byte> bytesOf(T Value) {
  const auto Raw = std::as_bytes(std::span(&Value, 1));
  return {Raw.begin(), Raw.end()};
}

} // namespace

Expected<MlgoBinding> MlgoBinding::of(const MlgoHeader &Header, const BoundSpec &Spec) {
  if (auto Done = check(Header, Spec); !Done)
    return Unexpected(Done.error());
  MlgoBinding Result;
  for (const TensorSpec &Declared : Spec.Task.Agents[0].Inputs) {
    const auto Found = find(Header.Features, Declared);
    Result.Views.push_back({Declared.maxShape(), {}});
    if (Declared.Role == TensorRole::Mask) {
      Result.MaskAt = Result.Sources.size();
      Result.Mask.resize(Declared.maxElements(), std::byte{1});
    }
    if (Found == Header.Features.end()) {
      Result.Sources.emplace_back();
      continue;
    }
    const size_t Offset = packedSize({Header.Features.begin(), Found});
    Result.Sources.emplace_back(Source{Offset, packedSize({Found, 1}), Found->Type});
  }
  Result.Answer = Header.Advice->Type;
  return Result;
}

std::span<const TensorView> MlgoBinding::views(std::span<const std::byte> Packed) {
  for (size_t I = 0; I < Sources.size(); ++I)
    if (const auto &From = Sources[I])
      Views[I].Bytes = Packed.subspan(From->Offset, From->Bytes);
  if (MaskAt) {
    if (const auto &From = Sources[*MaskAt])
      readMask(*From, Packed);
    Views[*MaskAt].Bytes = Mask;
  }
  return Views;
}

void MlgoBinding::readMask(const Source &From, std::span<const std::byte> Packed) {
  const size_t Size = byteSize(From.Type);
  for (size_t I = 0; I < Mask.size(); ++I) {
    const auto Element = Packed.subspan(From.Offset + I * Size, Size);
    Mask[I] = std::byte(std::ranges::any_of(Element, [](std::byte B) { return B != std::byte{}; }));
  }
}

std::vector<std::byte> MlgoBinding::encode(int64_t Index) const {
  return withElementType(Answer, [&]<class T>(T) { return bytesOf(static_cast<T>(Index)); });
}

std::vector<std::byte> MlgoBinding::encode(double Value) const {
  return withElementType(Answer, [&]<class T>(T) { return bytesOf(static_cast<T>(Value)); });
}

} // namespace mlcb
