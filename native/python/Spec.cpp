// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks, bound specs and serializers for Python.
#include "protocol/Observation.h"
#include "python/Arrays.h"
#include "python/Bindings.h"
#include "runner/AotSeal.h"
#include "runner/OnnxGraph.h"
#include "spec/Digest.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcb::python {
namespace {

std::vector<std::string_view> tasks() {
  std::vector<std::string_view> Names;
  for (const TaskSpec &Task : allTasks())
    Names.push_back(Task.Name);
  return Names;
}

std::string bindToJson(const std::string &Task, const std::string &Parameters) {
  const TaskSpec *Found = findTask(Task);
  if (!Found)
    raise({ErrorKind::InvalidArgument, "task '" + Task + "' is not one that this build knows"});
  return unwrap(bindTask(*Found, Parameters)).toJson();
}

/// The tensors of an agent's observation with these metrics.
std::vector<TensorSpec> layoutOf(const BoundSpec &Spec, size_t Agent, const std::vector<std::string> &Metrics) {
  if (Agent >= Spec.Task.Agents.size())
    raise({ErrorKind::InvalidArgument, "there is no agent " + std::to_string(Agent)});
  return observationLayouts(Spec, unwrap(wantMetrics(Spec, Metrics)), Measure::Always)[Agent].Tensors;
}

nb::bytes encode(const std::string &Name, const std::string &SpecJson, size_t Agent, nb::dict Tensors, nb::dict Metrics) {
  std::vector<std::string> Wanted;
  for (auto [Key, Value] : Metrics)
    Wanted.push_back(nb::cast<std::string>(Key));
  const BoundSpec Bound = unwrap(readSpec(SpecJson));
  const auto Layout = layoutOf(Bound, Agent, Wanted);
  std::vector<Given> Keep;
  std::vector<TensorView> Views;
  for (const TensorSpec &Spec : Layout) {
    const nb::str Key(Spec.Name.data(), Spec.Name.size());
    const nb::dict &From = Spec.isMetric() ? Metrics : Tensors;
    if (!From.contains(Key))
      raise({ErrorKind::InvalidArgument, "tensor " + std::string(Spec.Name) + " is missing"});
    Views.push_back(Keep.emplace_back(Spec, From[Key]).view());
  }
  std::vector<std::byte> Out;
  unwrap(findSerializer(Name))->encode(Layout, Views, Out);
  return nb::bytes(Out.data(), Out.size());
}

nb::tuple decode(const std::string &Name, const std::string &SpecJson, size_t Agent, nb::bytes Payload, const std::vector<std::string> &Metrics) {
  const BoundSpec Bound = unwrap(readSpec(SpecJson));
  const auto Layout = layoutOf(Bound, Agent, Metrics);
  const auto *Bytes = static_cast<const std::byte *>(Payload.data());
  const std::vector<std::byte> Aligned(Bytes, Bytes + Payload.size());
  Decoded Tensors;
  unwrap(unwrap(findSerializer(Name))->decode(Layout, Aligned, Tensors));
  Dicts Result = toDicts(Layout, Tensors.Views);
  return nb::make_tuple(Result.Tensors, Result.Metrics);
}

} // namespace

void bindSpec(nb::module_ &Module) {
  Module.def("tasks", &tasks, "Names of the tasks that this build declares.");
  Module.def("bind", &bindToJson, "task"_a, "parameters"_a = "{}",
             "The bound spec of a task, as JSON: every shape known, named by its digest. A parameter that is absent from "
             "the JSON object `parameters` has its default.");
  Module.def(
      "describe_mismatch", [](const std::string &Compiler, const std::string &Expected) { return describeMismatch(Compiler, Expected); },
      "compiler"_a, "expected"_a, "One sentence: the first difference between two bound specs, given as JSON.");
  Module.def(
      "digest", [](nb::bytes Data) { return hexDigest({Data.c_str(), Data.size()}); }, "data"_a,
      "XXH3-128 of some bytes as 32 hex digits: what names a vocabulary by its contents.");
  Module.def(
      "check_graph",
      [](const std::string &Name, nb::bytes Model) { unwrap(checkGraph(Name, {static_cast<const std::byte *>(Model.data()), Model.size()})); },
      "name"_a, "model"_a,
      "Refuses an ONNX model whose nodes might run more often than they stand in it, or that names other files. Errors begin with `name`.");
  Module.def(
      "aot_seal",
      [](nb::bytes Library, std::string_view Cpu) {
        const std::string Seal = unwrap(sealOf({Library.c_str(), Library.size()}, Cpu));
        return nb::bytes(Seal.data(), Seal.size());
      },
      "library"_a, "cpu"_a, "What makes a shared object a compiled policy once it is appended: it is whole, and for which CPU it is.");
  Module.def("encode", &encode, "serializer"_a, "spec"_a, "agent"_a, "tensors"_a, "metrics"_a = nb::dict(), "The payload of an observation.",
             nb::sig("def encode(serializer: str, spec: str, agent: int, tensors: dict[str, typing.Any], "
                     "metrics: dict[str, int | float] = {}) -> bytes"));
  Module.def("decode", &decode, "serializer"_a, "spec"_a, "agent"_a, "payload"_a, "metrics"_a = std::vector<std::string>(),
             "The tensors and metrics of a payload.",
             nb::sig("def decode(serializer: str, spec: str, agent: int, "
                     "payload: bytes, metrics: collections.abc.Sequence[str] = []) -> tuple[dict[str, typing.Any], dict[str, int | float]]"));
}

} // namespace mlcb::python
