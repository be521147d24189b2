// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/Message.h"

#include "python/Bindings.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcb::python {

PyMessage::PyMessage(const Message &Got) : Kind(name(Got.Kind)), Agent(Got.Agent) {
  if (!Got.Specs.empty())
    Content = toDicts(Got.Specs, Got.Views, Got.Memory);
  if (Got.Reason)
    Reason = name(*Got.Reason);
  if (!Got.Text.empty())
    Text = toStr(Got.Text).c_str();
}

nb::object toIndex(nb::handle Advice) {
  PyObject *Index = PyNumber_Index(Advice.ptr());
  if (!Index)
    throw nb::python_error();
  return nb::steal(Index);
}

void bindMessage(nb::module_ &Module) {
  nb::class_<PyMessage>(Module, "Message", "What a compiler said.")
      .def(nb::init<std::string, nb::dict, nb::dict, std::optional<std::string>>(), "kind"_a, "tensors"_a, "metrics"_a, "reason"_a = nb::none(),
           "For a session whose compiler cannot say it itself, as a stock one its end.",
           nb::sig("def __init__(self, kind: str, tensors: dict[str, typing.Any], metrics: dict[str, int | float], "
                   "reason: str | None = None) -> None"))
      .def_prop_ro(
          "kind", [](const PyMessage &M) { return M.Kind; }, "observation, episode_end, begin, hello or bye")
      .def_prop_ro(
          "agent", [](const PyMessage &M) { return M.Agent; }, "Index of the agent in the bound spec.")
      .def_prop_ro(
          "tensors", [](const PyMessage &M) { return M.Content.Tensors; }, nb::sig("def tensors(self) -> dict[str, typing.Any]"),
          "Arrays by name; a string is a str.")
      .def_prop_ro(
          "metrics", [](const PyMessage &M) { return M.Content.Metrics; }, nb::sig("def metrics(self) -> dict[str, int | float]"),
          "The wanted metrics by name.")
      .def_prop_ro(
          "reason", [](const PyMessage &M) { return M.Reason; }, "Of an episode_end: horizon, stopped, no_decisions or exhausted.")
      .def_prop_ro(
          "text", [](const PyMessage &M) { return M.Text; },
          "Of hello and begin: their JSON. Of a stock compiler's observation: its context, as the function.");
}

} // namespace mlcb::python
