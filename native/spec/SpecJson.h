// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bound spec as JSON. For .cpp files only.
#pragma once

#include "spec/Json.h"
#include "spec/TaskSpec.h"

namespace mlcb {

/// `{"float32[300]"}`-like text of a tensor in the JSON of a bound spec; a varying dimension is "<=600".
std::string typeAndShape(const Json &Tensor);

/// The role of TensorRole::AddedMetric in the JSON of a bound spec.
inline constexpr const char *AddedMetric = "added metric";

/// A tensor that is declared without bounds is between minus this and this.
inline constexpr double Unbounded = 1e9;

/// No larger dimension is ever bound.
inline constexpr int64_t MaxDimension = 1 << 24;

/// InvalidArgument where an observation of the agent would not fit in a frame. Every dimension must be bound.
Expected<void> checkSize(const TaskSpec &Task, const AgentSpec &Agent);

/// hexDigest() of everything but the documentation, what was added and is not used, and the digest itself.
std::string digestOf(const BoundSpec &Spec);

} // namespace mlcb
