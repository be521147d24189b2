// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tasks of native/tasks/*.def as C++ names: mlcb::<task>::{Param, Agent, Metric} and, per agent, mlcb::<task>::<agent>::<tensor>.
//
// A declaration is, in this order (spec/DefineTask.inc gives each macro its meaning):
//   TASK(name, "doc")
//   PARAM(name, R"(default as JSON)", "doc")                   any number
//   ADDED_PARAM(name, R"(default as JSON)", "doc")             one that is younger than exported policies: part of the digest where it is set
//   AGENT(name)                                                one or more, each followed by its own
//     TENSOR(type, name, (dimensions), low, high, "doc")       dimensions: n, param(x), at_most(n); () is a scalar
//     MASK(name, (dimensions), "doc")                          int8: 1 where the choice is legal
//     HEURISTIC(type, name, (dimensions), low, high, "doc")    a tensor that holds the answer of the compiler's own heuristic
//     ADVICE(argmax, name, choices, "doc")                     or ADVICE(value, name, 1, "doc")
//   METRIC(type, name, "doc")                                  for rewards: never an input of a model
//   ADDED_METRIC(type, name, "doc")                            one that is younger than exported policies: no part of the digest
#pragma once

#include <cstddef>

namespace mlcb {

#define MLCB_TASK_VISITOR "spec/DeclareTask.inc"
#include "AllTasks.inc" // made by the build: includes the visitor for each native/tasks/*.def
#undef MLCB_TASK_VISITOR

} // namespace mlcb
