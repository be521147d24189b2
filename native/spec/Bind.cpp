// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a declared task and values of its parameters to a bound spec.
#include "spec/SpecJson.h"

namespace mlcb {
namespace {

constexpr size_t MaxAgentBytes = size_t(48) << 20; // leaves room in a frame of 64 MiB

Unexpected invalid(const TaskSpec &Task, const std::string &What) { return fail(ErrorKind::InvalidArgument, std::string(Task.Name) + ": " + What); }

std::string kindOf(const Json &Value) {
  if (Value.is_number_integer())
    return "an integer";
  return (Value.is_array() || Value.is_object() ? "an " : "a ") + std::string(Value.type_name());
}

std::string parameterNames(const TaskSpec &Task) {
  std::string Names;
  for (const ParamSpec &Param : Task.Params)
    Names += (Names.empty() ? "" : ", ") + std::string(Param.Name);
  return Names;
}

/// A value must be of its default's type; an integer may stand for a float, and becomes one so that the digest is one.
bool adaptTo(const Json &Default, Json &Value) {
  if (Default.is_number_float() && Value.is_number())
    Value = Value.get<double>();
  if (Default.is_number_integer())
    return Value.is_number_integer();
  return Default.type() == Value.type();
}

Expected<Json> mergeParameters(const TaskSpec &Task, std::string_view Text) {
  Json Given = parseJson(Text.empty() ? "{}" : Text);
  if (!Given.is_object())
    return invalid(Task, "the parameters are not a JSON object");
  Json Values = Json::object();
  for (const ParamSpec &Param : Task.Params)
    Values[std::string(Param.Name)] = parseJson(Param.Default);
  for (auto Item = Given.begin(); Item != Given.end(); ++Item) {
    auto Known = Values.find(Item.key());
    if (Known == Values.end())
      return invalid(Task, "unknown parameter '" + Item.key() + "'; it has " + parameterNames(Task));
    if (!adaptTo(*Known, Item.value()))
      return invalid(Task, "parameter '" + Item.key() + "' is " + shortText(Item.value()) + ", expected " + kindOf(*Known));
    *Known = std::move(Item.value());
  }
  return Values;
}

Expected<void> resolve(Dim &D, const TaskSpec &Task, const Json &Values) {
  if (D.How != Dim::Kind::Param)
    return {};
  const Json &Value = member(Values, D.Param);
  if (Value.is_number_integer())
    D.Size = Value.get<int64_t>();
  else if (Value.is_array())
    D.Size = static_cast<int64_t>(Value.size());
  else
    return invalid(Task, "parameter '" + std::string(D.Param) + "' is " + shortText(Value) + ", expected a size or a list");
  if (D.Size < 0 || D.Size > MaxDimension)
    return invalid(Task, "parameter '" + std::string(D.Param) + "' gives a dimension of " + std::to_string(D.Size) + ", expected 0 to " +
                             std::to_string(MaxDimension));
  return {};
}

Expected<void> resolve(AgentSpec &Agent, const TaskSpec &Task, const Json &Values) {
  for (TensorSpec &Tensor : Agent.Inputs)
    for (Dim &D : Tensor.Shape)
      if (auto Done = resolve(D, Task, Values); !Done)
        return Done;
  if (auto Done = resolve(Agent.Advice.Choices, Task, Values); !Done)
    return Done;
  return checkSize(Task, Agent);
}

} // namespace

Expected<void> checkSize(const TaskSpec &Task, const AgentSpec &Agent) {
  size_t Bytes = 0;
  for (const TensorSpec &Tensor : Agent.Inputs) {
    const size_t Elements = Tensor.maxElements();
    if (Elements > MaxAgentBytes || (Bytes += Elements * byteSize(Tensor.Type)) > MaxAgentBytes)
      return invalid(Task, "the tensors of agent '" + std::string(Agent.Name) + "' exceed " + std::to_string(MaxAgentBytes) + " bytes at '" +
                               std::string(Tensor.Name) + "'");
  }
  return {};
}

Expected<BoundSpec> bindTask(const TaskSpec &Task, std::string_view ParametersJson) {
  auto Values = mergeParameters(Task, ParametersJson);
  if (!Values)
    return Unexpected(Values.error());
  BoundSpec Spec{Task, dumpJson(*Values), "", MLCB_LLVM_MAJOR};
  for (AgentSpec &Agent : Spec.Task.Agents)
    if (auto Done = resolve(Agent, Task, *Values); !Done)
      return Unexpected(Done.error());
  Spec.Digest = digestOf(Spec);
  return Spec;
}

Expected<BoundSpec> rebind(std::string_view BoundJson) {
  const Json Given = parseJson(BoundJson);
  const std::string Name = stringOf(member(Given, "task"));
  const TaskSpec *Task = findTask(Name);
  if (!Task)
    return fail(ErrorKind::SpecMismatch, "task '" + Name + "' is not one that this build knows");
  auto Spec = bindTask(*Task, dumpJson(member(Given, "parameters")));
  if (!Spec)
    return fail(ErrorKind::SpecMismatch, Spec.error().Message);
  if (Spec->Digest != stringOf(member(Given, "digest")))
    return fail(ErrorKind::SpecMismatch, describeMismatch(BoundJson, Spec->toJson()));
  return Spec;
}

} // namespace mlcb
