// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A task that its compiler declares itself, read from JSON.
#include "spec/SpecJson.h"

#include <algorithm>
#include <set>

namespace mlcb {
namespace {

constexpr size_t MaxAgents = 256; // a frame names its agent in one byte

/// Reads the members of a declaration, and remembers the first thing that is wrong with it.
class Reader {
public:
  TaskSpec task(const Json &From) {
    TaskSpec Task;
    Name = Task.Name = word(From, "task");
    Task.Doc = text(From, "doc");
    const Json &Agents = list(From, "agents");
    require(!Agents.empty() && Agents.size() <= MaxAgents, "agents", "1 to " + std::to_string(MaxAgents));
    if (!Wrong.empty())
      return Task;
    for (const Json &Agent : Agents)
      Task.Agents.push_back(agent(Agent));
    for (const Json &Metric : list(From, "metrics"))
      Task.Metrics.push_back(metric(Metric));
    requireDistinct(Task.Agents, "agents");
    requireDistinct(Task.Metrics, "metrics");
    requireNoMetricIsAnInput(Task);
    return Task;
  }

  /// The first complaint; empty if there is none.
  std::string Wrong;

private:
  AgentSpec agent(const Json &From) {
    AgentSpec Agent{word(From, "name"), {}, advice(member(From, "advice"))};
    for (const Json &Input : list(From, "inputs"))
      Agent.Inputs.push_back(input(Input));
    requireDistinct(Agent.Inputs, "inputs");
    requireMask(Agent);
    return Agent;
  }

  AdviceSpec advice(const Json &From) {
    const bool Argmax = text(From, "kind") == "argmax";
    require(Argmax || text(From, "kind") == "value", "advice", "an object of kind 'argmax' or 'value'");
    const int64_t Choices = Argmax ? integer(member(From, "choices"), "choices") : 1;
    require(Choices > 0, "choices", "1 at least");
    return {Argmax ? AdviceKind::Argmax : AdviceKind::Value, word(From, "name"), {Dim::Kind::Fixed, Choices, {}}, text(From, "doc")};
  }

  TensorSpec input(const Json &From) {
    TensorSpec Tensor = tensor(From);
    const std::string_view Role = text(From, "role");
    Tensor.Role = Role == "mask" ? TensorRole::Mask : Role == "heuristic" ? TensorRole::Heuristic : TensorRole::Input;
    require(Role.empty() || Role == "input" || Tensor.Role != TensorRole::Input, Tensor.Name, "the role 'input', 'heuristic' or 'mask'");
    Tensor.Low = number(From, "low", Tensor.Role == TensorRole::Mask ? 0 : -Unbounded);
    Tensor.High = number(From, "high", Tensor.Role == TensorRole::Mask ? 1 : Unbounded);
    return Tensor;
  }

  TensorSpec metric(const Json &From) {
    TensorSpec Metric = tensor(From);
    Metric.Role = text(From, "role") == AddedMetric ? TensorRole::AddedMetric : TensorRole::Metric;
    require(Metric.Shape.empty() && Metric.Type != DType::String, Metric.Name, "a metric that is one number");
    return Metric;
  }

  TensorSpec tensor(const Json &From) {
    TensorSpec Tensor{word(From, "name"), DType::Float32, {}, 0, 0, text(From, "doc"), TensorRole::Input};
    const auto Type = dtype(text(From, "dtype"));
    require(Type.has_value(), Tensor.Name, "a dtype, as 'float32' or 'int64'");
    Tensor.Type = Type.value_or(Tensor.Type);
    for (const Json &Length : list(From, "shape"))
      Tensor.Shape.push_back(dim(Length, Tensor.Name));
    require(Tensor.Type != DType::String || Tensor.Shape.empty(), Tensor.Name, "no shape, for it is a string");
    return Tensor;
  }

  Dim dim(const Json &From, std::string_view Tensor) {
    if (From.is_object())
      return {Dim::Kind::AtMost, integer(member(From, "at_most"), Tensor), {}};
    return {Dim::Kind::Fixed, integer(From, Tensor), {}};
  }

  /// A choice is looked up in the mask.
  void requireMask(const AgentSpec &Agent) {
    const auto IsMask = [](const TensorSpec &Tensor) { return Tensor.Role == TensorRole::Mask; };
    if (std::ranges::none_of(Agent.Inputs, IsMask))
      return;
    const TensorSpec &Mask = Agent.Inputs[static_cast<size_t>(Agent.maskIndex())];
    require(std::ranges::count_if(Agent.Inputs, IsMask) == 1 && Agent.Advice.Kind == AdviceKind::Argmax && Mask.Type == DType::Int8 &&
                Mask.Shape.size() == 1 && Mask.Shape[0].How == Dim::Kind::Fixed && Mask.Shape[0].Size == Agent.Advice.Choices.Size,
            Mask.Name, "the agent's one mask, int8 of one element for each choice");
  }

  /// A stranger declares as many of both as fit into a frame.
  void requireNoMetricIsAnInput(const TaskSpec &Task) {
    std::set<std::string_view> Inputs;
    for (const AgentSpec &Agent : Task.Agents)
      for (const TensorSpec &Input : Agent.Inputs)
        Inputs.insert(Input.Name);
    for (const TensorSpec &Metric : Task.Metrics)
      require(!Inputs.contains(Metric.Name), Metric.Name, "a metric that has not the name of an input, for they travel together");
  }

  template <class Named> void requireDistinct(const std::vector<Named> &Things, std::string_view What) {
    std::set<std::string_view> Seen;
    for (const Named &Thing : Things)
      require(Seen.insert(Thing.Name).second, What, "no two of one name");
  }

  void require(bool Holds, std::string_view Of, std::string_view Expected) {
    if (!Holds && Wrong.empty())
      Wrong = "task '" + Name + "' declares '" + std::string(Of) + "' wrongly: expected " + std::string(Expected);
  }

  static std::string_view text(const Json &From, std::string_view Key) {
    const auto *Text = member(From, Key).get_ptr<const std::string *>();
    return Text ? std::string_view(*Text) : "";
  }

  std::string_view word(const Json &From, std::string_view Key) {
    require(!text(From, Key).empty(), Key, "a name");
    return text(From, Key);
  }

  const Json &list(const Json &From, std::string_view Key) {
    static const Json Empty = Json::array();
    const Json &Items = member(From, Key);
    require(Items.is_null() || Items.is_array(), Key, "a list");
    return Items.is_array() ? Items : Empty;
  }

  int64_t integer(const Json &Value, std::string_view Of) {
    const bool Fits = Value.is_number_integer() && Value >= 0 && Value <= MaxDimension;
    require(Fits, Of, "lengths of 0 to " + std::to_string(MaxDimension) + ", not " + shortText(Value));
    return Fits ? Value.get<int64_t>() : 0;
  }

  double number(const Json &From, std::string_view Key, double Default) {
    const Json &Value = member(From, Key);
    require(Value.is_null() || Value.is_number(), Key, "a number");
    return Value.is_number() ? Value.get<double>() : Default;
  }

  std::string Name;
};

Unexpected invalid(std::string Why) { return fail(ErrorKind::InvalidArgument, std::move(Why)); }

} // namespace

Expected<BoundSpec> readSpec(std::string_view BoundJson) {
  const auto Given = std::make_shared<const Json>(parseJson(BoundJson));
  if (!Given->is_object())
    return invalid("a declaration of a task is not a JSON object");
  if (findTask(stringOf(member(*Given, "task"))))
    return rebind(BoundJson);
  const Json &Parameters = member(*Given, "parameters");
  if (!Parameters.is_null() && !Parameters.is_object())
    return invalid("the parameters of a task are " + shortText(Parameters) + ", expected a JSON object");
  Reader From;
  BoundSpec Spec{From.task(*Given), Parameters.is_null() ? "{}" : dumpJson(Parameters), ""};
  if (!From.Wrong.empty())
    return invalid(From.Wrong);
  Spec.Task.Text = Given;
  if (const Json &Llvm = member(*Given, "llvm"); Llvm.is_number_integer())
    Spec.Llvm = Llvm.get<int>();
  for (const AgentSpec &Agent : Spec.Task.Agents)
    if (auto Done = checkSize(Spec.Task, Agent); !Done)
      return Unexpected(Done.error());
  Spec.Digest = digestOf(Spec);
  if (const Json &Digest = member(*Given, "digest"); !Digest.is_null() && Digest != Spec.Digest)
    return fail(ErrorKind::SpecMismatch,
                std::string(Spec.Task.Name) + ": its digest is " + shortText(Digest) + ", what it declares has " + Spec.Digest);
  return Spec;
}

} // namespace mlcb
