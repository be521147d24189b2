// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first line of LLVM's format.
#include "protocol/Frame.h"
#include "protocol/Mlgo.h"
#include "spec/SpecJson.h"

#include <algorithm>
#include <array>
#include <set>

namespace mlcb {
namespace {

// C's names, in the order of DType. Where two types have one name, the first is meant when it is read.
constexpr std::array<std::string_view, 12> TypeNames{"int8_t", "int16_t", "int32_t",  "int64_t",  "uint8_t",  "float",
                                                     "double", "uint8_t", "uint16_t", "uint32_t", "uint64_t", ""};
static_assert(TypeNames.size() == static_cast<size_t>(DType::String) + 1);

std::optional<DType> typeOf(std::string_view Name) {
  const auto Found = std::ranges::find(TypeNames, Name);
  if (Found == TypeNames.end() || Name.empty())
    return {};
  return static_cast<DType>(Found - TypeNames.begin());
}

using Ordered = nlohmann::ordered_json;

Ordered describe(const TensorSpec &Tensor) {
  return {{"name", Tensor.Name}, {"type", TypeNames[static_cast<size_t>(Tensor.Type)]}, {"port", 0}, {"shape", Tensor.maxShape()}};
}

Unexpected malformed(const std::string &What) { return fail(ErrorKind::ProtocolError, What); }

Expected<std::vector<Dim>> readShape(const Json &From, const std::string &Name) {
  std::vector<Dim> Shape;
  if (!From.is_array())
    return malformed("tensor '" + Name + "' has no shape");
  for (const Json &Length : From) {
    if (!Length.is_number_integer() || Length < 0 || Length > MaxDimension)
      return malformed("tensor '" + Name + "' has a length of " + shortText(Length) + ", expected 0 to " + std::to_string(MaxDimension));
    Shape.push_back({Dim::Kind::Fixed, Length.get<int64_t>(), {}});
  }
  return Shape;
}

Expected<TensorSpec> readTensor(const Json &From) {
  const auto *Name = member(From, "name").get_ptr<const std::string *>();
  if (!Name || Name->empty())
    return malformed("a tensor has no name: " + shortText(From));
  const auto Type = typeOf(stringOf(member(From, "type")));
  if (!Type)
    return malformed("tensor '" + *Name + "' is of type " + shortText(member(From, "type")) + ", expected float, double, or int8_t to uint64_t");
  auto Shape = readShape(member(From, "shape"), *Name);
  if (!Shape)
    return Unexpected(Shape.error());
  return TensorSpec{*Name, *Type, std::move(*Shape), -Unbounded, Unbounded, "", TensorRole::Input};
}

Expected<std::optional<TensorSpec>> readOptional(const Json &From) {
  if (From.is_null())
    return std::nullopt;
  auto Tensor = readTensor(From);
  return Tensor ? Expected<std::optional<TensorSpec>>(std::move(*Tensor)) : Unexpected(Tensor.error());
}

Expected<void> check(const MlgoHeader &Header) {
  std::set<std::string_view> Names;
  size_t Bytes = 0;
  const auto Add = [&](const TensorSpec &Tensor) {
    const size_t Elements = Tensor.maxElements();
    return Elements <= FrameHeader::MaxLength && (Bytes += Elements * byteSize(Tensor.Type)) <= FrameHeader::MaxLength;
  };
  for (const TensorSpec &Tensor : Header.Features) {
    if (!Names.insert(Tensor.Name).second)
      return malformed("there are two tensors '" + std::string(Tensor.Name) + "'");
    if (!Add(Tensor))
      return malformed("the tensors up to '" + std::string(Tensor.Name) + "' take more than " + std::to_string(FrameHeader::MaxLength) + " bytes");
  }
  for (const auto *Other : {&Header.Score, &Header.Advice})
    if (*Other && !Add(**Other))
      return malformed("tensor '" + std::string((*Other)->Name) + "' is too large");
  return {};
}

} // namespace

std::string MlgoHeader::toJson() const {
  Ordered Result{{"features", Ordered::array()}};
  for (const TensorSpec &Tensor : Features)
    Result["features"].push_back(describe(Tensor));
  if (Score)
    Result["score"] = describe(*Score);
  if (Advice)
    Result["advice"] = describe(*Advice);
  return Result.dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

Expected<MlgoHeader> readMlgoHeader(std::string_view Line) {
  const auto Given = std::make_shared<const Json>(parseJson(Line));
  const Json &Features = member(*Given, "features");
  if (!Features.is_array())
    return malformed("the first line is not LLVM's declaration of features");
  MlgoHeader Header;
  Header.Text = Given;
  for (const Json &Feature : Features) {
    auto Tensor = readTensor(Feature);
    if (!Tensor)
      return Unexpected(Tensor.error());
    Header.Features.push_back(std::move(*Tensor));
  }
  auto Score = readOptional(member(*Given, "score"));
  auto Advice = readOptional(member(*Given, "advice"));
  if (!Score || !Advice)
    return Unexpected((Score ? Advice : Score).error());
  Header.Score = std::move(*Score);
  Header.Advice = std::move(*Advice);
  if (auto Done = check(Header); !Done)
    return Unexpected(Done.error());
  return Header;
}

Expected<MlgoHeader> mlgoHeaderOf(const BoundSpec &Spec, bool WithReward) {
  const auto Lacks = [&](const std::string &What) {
    return fail(ErrorKind::InvalidArgument, std::string(Spec.Task.Name) + ": LLVM's format knows no " + What);
  };
  if (Spec.Task.Agents.size() != 1)
    return Lacks("several agents, the task has " + std::to_string(Spec.Task.Agents.size()));
  const AgentSpec &Agent = Spec.Task.Agents[0];
  const Dim One{Dim::Kind::Fixed, 1, {}};
  MlgoHeader Header{Agent.Inputs, {}, {}, Spec.Task.Text};
  for (const TensorSpec &Tensor : Agent.Inputs)
    if (Tensor.Type == DType::String)
      return Lacks("strings, such as '" + std::string(Tensor.Name) + "'");
  const DType Decision = Agent.Advice.Kind == AdviceKind::Argmax ? DType::Int64 : DType::Float32;
  Header.Features.push_back({Agent.Advice.Name, Decision, {One}, -Unbounded, Unbounded, "", TensorRole::Input});
  if (WithReward)
    Header.Score = {"reward", DType::Float32, {One}, -Unbounded, Unbounded, "", TensorRole::Input};
  if (auto Done = check(Header); !Done)
    return Unexpected(Done.error());
  return Header;
}

size_t packedSize(std::span<const TensorSpec> Specs) {
  size_t Bytes = 0;
  for (const TensorSpec &Tensor : Specs)
    Bytes += Tensor.maxElements() * byteSize(Tensor.Type);
  return Bytes;
}

} // namespace mlcb
