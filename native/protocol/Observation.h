// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What lies in the payload of Observation and EpisodeEnd: an agent's tensors, then the wanted metrics.
#pragma once

#include "spec/TaskSpec.h"

#include <span>

namespace mlcb {

/// For each metric of the spec whether it is wanted; a name that it lacks is InvalidArgument.
Expected<std::vector<bool>> wantMetrics(const BoundSpec &Spec, std::span<const std::string> Names);

/// For each agent, the tensors of its Observation in the order of the wire.
std::vector<std::vector<TensorSpec>> observationLayout(const BoundSpec &Spec, const std::vector<bool> &WantedMetrics);

} // namespace mlcb
