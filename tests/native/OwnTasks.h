// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tasks that stand in no .def, as their compilers declare them.
#pragma once

namespace mlcb::test {

/// That of TwoAgents.c.
inline constexpr const char *PickerAndJudge = R"({
  "task": "two",
  "agents": [{"name": "picker",
              "inputs": [{"name": "x", "dtype": "float32", "shape": [3]}, {"name": "legal", "dtype": "int8", "shape": [3], "role": "mask"}],
              "advice": {"kind": "argmax", "name": "choice", "choices": 3}},
             {"name": "judge",
              "inputs": [{"name": "unread", "dtype": "float32"}, {"name": "y", "dtype": "int32"}],
              "advice": {"kind": "value", "name": "cost"}}]})";

/// Two agents, every kind of tensor, and metrics.
inline constexpr const char *FirstAndSecond = R"({
  "task": "two",
  "agents": [{"name": "first",
              "inputs": [{"name": "x", "dtype": "float32", "shape": [{"at_most": 3}]}, {"name": "code", "dtype": "string"}],
              "advice": {"kind": "argmax", "name": "choice", "choices": 2}},
             {"name": "second",
              "inputs": [{"name": "y", "dtype": "bool"}],
              "advice": {"kind": "value", "name": "cost"}}],
  "metrics": [{"name": "size", "dtype": "int64"}, {"name": "cycles", "dtype": "float64"}]})";

/// One agent with a mask.
inline constexpr const char *Unroll = R"({
  "task": "unroll",
  "agents": [{"name": "unroller",
              "inputs": [{"name": "trip_count", "dtype": "int64"},
                         {"name": "body", "dtype": "float32", "shape": [{"at_most": 5}, 2], "low": 0, "high": 1},
                         {"name": "legal", "dtype": "int8", "shape": [3], "role": "mask"}],
              "advice": {"kind": "argmax", "name": "factor", "choices": 3}}],
  "metrics": [{"name": "cycles", "dtype": "float64"}]})";

} // namespace mlcb::test
