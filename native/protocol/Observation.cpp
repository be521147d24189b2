// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/Observation.h"

#include <algorithm>
#include <cmath>

namespace mlcb {
namespace {

Unexpected invalid(std::string Why) { return fail(ErrorKind::InvalidArgument, std::move(Why)); }

Expected<void> checkKind(const AdviceSpec *Asked, AdviceKind Given) {
  if (!Asked)
    return invalid("advice was given where no observation asks for it");
  if (Asked->Kind != Given)
    return invalid(Given == AdviceKind::Value ? "the agent asks for an index, not for a value" : "the agent asks for a value, not for an index");
  return {};
}

} // namespace

Expected<std::vector<bool>> wantMetrics(const BoundSpec &Spec, std::span<const std::string> Names) {
  const auto &Metrics = Spec.Task.Metrics;
  std::vector<bool> Wanted(Metrics.size());
  for (const std::string &Name : Names) {
    auto Found = std::ranges::find(Metrics, std::string_view(Name), &TensorSpec::Name);
    if (Found == Metrics.end())
      return invalid(std::string(Spec.Task.Name) + ": it has no metric '" + Name + "'");
    Wanted[static_cast<size_t>(Found - Metrics.begin())] = true;
  }
  return Wanted;
}

Expected<void> checkAdvice(const AdviceSpec *Asked, std::span<const std::byte> Mask, int64_t Index) {
  if (auto Asks = checkKind(Asked, AdviceKind::Argmax); !Asks)
    return Asks;
  const bool InRange = Index >= 0 && Index < Asked->Choices.Size;
  const auto At = static_cast<size_t>(Index);
  if (InRange && (Mask.empty() || (At < Mask.size() && Mask[At] != std::byte{})))
    return {};
  return invalid("advice " + std::to_string(Index) + " for " + std::string(Asked->Name) +
                 (InRange ? " is masked" : " is not one of " + std::to_string(Asked->Choices.Size) + " choices"));
}

Expected<void> checkAdvice(const AdviceSpec *Asked, double Value) {
  auto Asks = checkKind(Asked, AdviceKind::Value);
  if (Asks && std::isnan(Value))
    return invalid("advice for " + std::string(Asked->Name) + " is NaN, expected a number");
  return Asks;
}

std::vector<ObservationLayout> observationLayouts(const BoundSpec &Spec, const std::vector<bool> &WantedMetrics, Measure When) {
  std::vector<ObservationLayout> Layouts;
  for (const AgentSpec &Agent : Spec.Task.Agents) {
    auto &Layout = Layouts.emplace_back(Agent.Inputs, Agent.Inputs.size(), When);
    for (size_t I = 0; I < WantedMetrics.size(); ++I)
      if (WantedMetrics[I])
        Layout.Tensors.push_back(Spec.Task.Metrics[I]);
  }
  return Layouts;
}

} // namespace mlcb
