// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler's message and its answer, in any protocol.
#pragma once

#include "protocol/LearnerEnd.h"
#include "python/Arrays.h"
#include "python/SharedEnd.h"

#include <nanobind/nanobind.h>
#include <string>

namespace mlcb::python {

struct PyMessage {
  std::string Kind;
  size_t Agent = 0;
  Dicts Content;
  std::optional<std::string> Reason, Text;

  explicit PyMessage(const Message &Got);
  PyMessage(std::string Kind, nanobind::dict Tensors, nanobind::dict Metrics, std::optional<std::string> Reason)
      : Kind(std::move(Kind)), Content{std::move(Tensors), std::move(Metrics)}, Reason(std::move(Reason)) {}
};

nanobind::object toIndex(nanobind::handle Advice);

/// Answers what an end was asked with an index, or with a float where it asks for a value.
template <class AnyEnd> void advise(const SharedEnd<AnyEnd> &End, nanobind::handle Advice, double Timeout) {
  auto Answer = [&](auto Given) { End.wait([&](AnyEnd &Of) { return Of.advise(Given, after(Timeout)); }); };
  if (End.asked() == AdviceKind::Value)
    Answer(nanobind::cast<double>(nanobind::float_(Advice)));
  else
    Answer(nanobind::cast<int64_t>(toIndex(Advice)));
}

} // namespace mlcb::python
