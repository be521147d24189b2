// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/InProcessRunner.h"

#include "runner/PolicyManifest.h"

#include <algorithm>
#include <cmath>

namespace mlcb {

std::string_view InProcessRunner::task() const { return Policy ? Policy->Spec.Task.Name : ""; }

std::string_view InProcessRunner::parameters() const {
  if (Policy)
    return Policy->Spec.Parameters;
  return "{}";
}

std::string_view InProcessRunner::target() const {
  if (Policy)
    return Policy->Target;
  return {};
}

Expected<void> InProcessRunner::onBind() {
  if (Policy && Spec.Digest != Policy->Spec.Digest)
    return fail(ErrorKind::SpecMismatch, Policy->Where + ": " + describeMismatch(Spec.toJson(), Policy->SpecJson, "the policy"));
  Outputs.clear();
  for (const AgentSpec &Agent : Spec.Task.Agents)
    Outputs.emplace_back(Agent.Advice.outputs());
  return {};
}

Expected<int64_t> InProcessRunner::choose(size_t Agent) {
  if (auto Done = run(Agent); !Done)
    return Unexpected(Done.error());
  return bestAllowed(Outputs[Agent], mask(Agent), Spec.Task.Agents[Agent]);
}

Expected<double> InProcessRunner::value(size_t Agent) {
  if (auto Done = run(Agent); !Done)
    return Unexpected(Done.error());
  return valueOf(Outputs[Agent], Spec.Task.Agents[Agent]);
}

Expected<double> valueOf(std::span<const float> Outputs, const AgentSpec &Agent) {
  if (std::isnan(Outputs[0]))
    return fail(ErrorKind::InvalidArgument, "the model of agent '" + std::string(Agent.Name) + "' says NaN, expected a number");
  return Outputs[0];
}

int64_t maskedArgmax(std::span<const float> Logits, std::span<const int8_t> Legal) {
  int64_t Best = -1;
  for (size_t I = 0; I < Logits.size(); ++I)
    if ((Legal.empty() || Legal[I]) && !std::isnan(Logits[I]) && (Best < 0 || Logits[I] > Logits[static_cast<size_t>(Best)]))
      Best = static_cast<int64_t>(I);
  return Best;
}

Expected<int64_t> bestAllowed(std::span<const float> Logits, std::span<const int8_t> Legal, const AgentSpec &Agent) {
  const int64_t Best = maskedArgmax(Logits, Legal);
  if (Best >= 0)
    return Best;
  const bool Allows = Legal.empty() || std::ranges::any_of(Legal, [](int8_t Bit) { return Bit != 0; });
  const std::string Name = "agent '" + std::string(Agent.Name) + "'";
  return fail(ErrorKind::InvalidArgument, Allows ? "the model of " + Name + " says NaN for all that its mask allows, expected a number"
                                                 : "the mask of " + Name + " allows nothing");
}

} // namespace mlcb
