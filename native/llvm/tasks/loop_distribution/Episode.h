// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LoopDistribution: a policy splits the loops of a module, in a pipeline of its own.
#pragma once

#include "llvm/pipeline/PassRunner.h"
#include "llvm/task/BoundTask.h"
#include "llvm/tasks/loop_distribution/Conversation.h"
#include "llvm/tasks/loop_distribution/Parameters.h"

namespace mlcb {

/// The task bound to its parameters: a pipeline that asks before its vectorizer.
class LoopDistribution final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target);

  LoopDistribution(LoopDistributionParameters Parameters, measure::Measurer &Target);

  Expected<EndReason> run(llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override;

private:
  Expected<void> baselines(const llvm::Module &Loaded, ModelRunner &Policy, const EpisodeRequest &Request);
  Expected<void> enterDefault(const llvm::Module &Loaded, InterleavedTiming &Timing);
  Expected<void> measure(llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request);

  LoopDistributionParameters Parameters;
  measure::Measurer &Target;
  LoopConversation *Questions = nullptr; // of the episode that runs
  PassRunner Asking, Heuristic;
};

} // namespace mlcb
