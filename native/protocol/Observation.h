// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The payload of Observation and EpisodeEnd: an agent's tensors, then the wanted metrics, where they are due.
#pragma once

#include "protocol/Frame.h"
#include "protocol/Messages.h"
#include "spec/TaskSpec.h"

#include <span>

namespace mlcb {

/// For each metric of the spec whether it is wanted; a name that it lacks is InvalidArgument.
Expected<std::vector<bool>> wantMetrics(const BoundSpec &Spec, std::span<const std::string> Names);

/// An agent's tensors, then the wanted metrics, in the order of the wire.
struct ObservationLayout {
  std::vector<TensorSpec> Tensors;
  size_t Inputs; // how many of them are the agent's
  Measure When;

  bool hasMetrics(FrameKind Kind) const { return When == Measure::Always || Kind == FrameKind::EpisodeEnd; }

  /// The tensors of a frame of that kind.
  std::span<const TensorSpec> of(FrameKind Kind) const { return std::span(Tensors).first(hasMetrics(Kind) ? Tensors.size() : Inputs); }
};

/// An InvalidArgument, in one clause, where an index is no advice that the agent may get. Asked is null where no observation asks; an empty mask
/// allows every choice.
Expected<void> checkAdvice(const AdviceSpec *Asked, std::span<const std::byte> Mask, int64_t Index);

/// Likewise of a value, which is a number.
Expected<void> checkAdvice(const AdviceSpec *Asked, double Value);

/// One for each agent.
std::vector<ObservationLayout> observationLayouts(const BoundSpec &Spec, const std::vector<bool> &WantedMetrics, Measure When);

} // namespace mlcb
