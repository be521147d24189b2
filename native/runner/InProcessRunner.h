// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy whose models run in this process: what their outputs mean as advice, whatever runs them.
#pragma once

#include "runner/ModelRunner.h"

namespace mlcb {

struct PolicyManifest;

class InProcessRunner : public ModelRunner {
public:
  std::string_view task() const override;
  std::string_view parameters() const override;
  std::string_view target() const override;
  bool observesEnd() const override { return false; }

protected:
  /// Null for a model alone: it has the task that it is bound to.
  explicit InProcessRunner(std::shared_ptr<const PolicyManifest> Policy) : Policy(std::move(Policy)) {}

  /// Refuses a spec that is not the policy's, and makes Outputs.
  Expected<void> onBind() override;
  Expected<int64_t> choose(size_t Agent) override;
  Expected<double> value(size_t Agent) override;

  /// Puts the logits of an agent, or its value, into its Outputs.
  virtual Expected<void> run(size_t Agent) = 0;

  std::shared_ptr<const PolicyManifest> Policy;
  std::vector<std::vector<float>> Outputs; // [agent]
};

/// The legal index of the largest logit; one that is NaN counts as masked. -1 where there is none. An empty mask allows everything.
int64_t maskedArgmax(std::span<const float> Logits, std::span<const int8_t> Legal);

/// The value that the agent is advised; an error where it is NaN.
Expected<double> valueOf(std::span<const float> Outputs, const AgentSpec &Agent);

/// The legal index that the agent is advised; an error where nothing is legal, or all that is legal is NaN.
Expected<int64_t> bestAllowed(std::span<const float> Logits, std::span<const int8_t> Legal, const AgentSpec &Agent);

} // namespace mlcb
