// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/InProcessRunner.h"

#include "runner/PolicyManifest.h"

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
  return run(Agent).map([&] { return static_cast<double>(Outputs[Agent][0]); });
}

int64_t maskedArgmax(std::span<const float> Logits, std::span<const int8_t> Legal) {
  int64_t First = -1, Best = -1;
  for (size_t I = 0; I < Logits.size(); ++I) {
    if (!Legal.empty() && !Legal[I])
      continue;
    const auto Index = static_cast<int64_t>(I);
    First = First < 0 ? Index : First;
    if (!std::isnan(Logits[I]) && (Best < 0 || Logits[I] > Logits[static_cast<size_t>(Best)]))
      Best = Index;
  }
  return Best >= 0 ? Best : First;
}

Expected<int64_t> bestAllowed(std::span<const float> Logits, std::span<const int8_t> Legal, const AgentSpec &Agent) {
  const int64_t Best = maskedArgmax(Logits, Legal);
  if (Best < 0)
    return fail(ErrorKind::InvalidArgument, "the mask of agent '" + std::string(Agent.Name) + "' allows nothing");
  return Best;
}

} // namespace mlcb
