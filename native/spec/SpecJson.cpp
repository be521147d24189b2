// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/SpecJson.h"

#include "spec/Digest.h"

namespace mlcb {
namespace {

/// Documentation is not part of the contract between two ends: a better sentence must not refuse a policy.
enum class Docs { No, Yes };

void addDoc(Json &Object, std::string_view Doc, Docs With) {
  if (With == Docs::Yes)
    Object["doc"] = Doc;
}

Json describe(const Dim &D) {
  if (D.How == Dim::Kind::AtMost)
    return {{"at_most", D.Size}};
  return D.Size;
}

/// The contract of a heuristic's answer is that of any input: policies without its role stay valid.
std::string_view name(TensorRole Role, Docs With) {
  switch (Role) {
  case TensorRole::Input: return "input";
  case TensorRole::Heuristic: return With == Docs::Yes ? "heuristic" : "input";
  case TensorRole::Mask: return "mask";
  case TensorRole::Metric: return "metric";
  case TensorRole::AddedMetric: return AddedMetric;
  }
  return "";
}

Json describe(const TensorSpec &Tensor, Docs With) {
  Json Shape = Json::array();
  for (const Dim &D : Tensor.Shape)
    Shape.push_back(describe(D));
  Json Result{{"name", Tensor.Name}, {"dtype", name(Tensor.Type)}, {"shape", Shape}, {"role", name(Tensor.Role, With)}};
  if (!Tensor.isMetric())
    Result.update({{"low", Tensor.Low}, {"high", Tensor.High}});
  addDoc(Result, Tensor.Doc, With);
  return Result;
}

Json describe(const std::vector<TensorSpec> &Tensors, Docs With) {
  Json Result = Json::array();
  for (const TensorSpec &Tensor : Tensors)
    if (With == Docs::Yes || Tensor.Role != TensorRole::AddedMetric)
      Result.push_back(describe(Tensor, With));
  return Result;
}

Json describe(const AdviceSpec &Advice, Docs With) {
  const bool Argmax = Advice.Kind == AdviceKind::Argmax;
  Json Result{{"kind", Argmax ? "argmax" : "value"}, {"name", Advice.Name}, {"choices", Advice.Choices.Size}};
  addDoc(Result, Advice.Doc, With);
  return Result;
}

Json parameters(const BoundSpec &Spec, Docs With) {
  Json Values = parseJson(Spec.Parameters);
  for (const ParamSpec &Param : Spec.Task.Params)
    if (With == Docs::No && Param.Added && member(Values, Param.Name) == parseJson(Param.Default))
      Values.erase(std::string(Param.Name));
  return Values;
}

Json describe(const BoundSpec &Spec, Docs With) {
  Json Agents = Json::array();
  for (const AgentSpec &Agent : Spec.Task.Agents)
    Agents.push_back({{"name", Agent.Name}, {"inputs", describe(Agent.Inputs, With)}, {"advice", describe(Agent.Advice, With)}});
  Json Result{{"task", Spec.Task.Name},
              {"parameters", parameters(Spec, With)},
              {"agents", std::move(Agents)},
              {"metrics", describe(Spec.Task.Metrics, With)}};
  if (Spec.Llvm)
    Result["llvm"] = Spec.Llvm;
  addDoc(Result, Spec.Task.Doc, With);
  return Result;
}

} // namespace

std::string typeAndShape(const Json &Tensor) {
  std::string Text = stringOf(member(Tensor, "dtype"), "?") + "[";
  bool First = true;
  for (const Json &D : member(Tensor, "shape")) {
    Text += First ? "" : ",";
    Text += D.is_object() ? "<=" + dumpJson(member(D, "at_most")) : dumpJson(D);
    First = false;
  }
  return Text + "]";
}

std::string digestOf(const BoundSpec &Spec) { return hexDigest(dumpJson(describe(Spec, Docs::No))); }

std::string BoundSpec::toJson() const {
  Json Result = describe(*this, Docs::Yes);
  Result["digest"] = Digest;
  return dumpJson(Result);
}

} // namespace mlcb
