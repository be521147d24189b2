// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inliner: a policy decides what LLVM's inliner inlines, in a pipeline of its own.
#pragma once

#include "llvm/pipeline/PassRunner.h"
#include "llvm/task/BoundTask.h"
#include "llvm/tasks/inliner/Parameters.h"

namespace mlcb {

/// The task bound to its parameters: a pipeline whose inliner asks.
class Inliner final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target);

  Inliner(InlinerParameters Parameters, measure::Measurer &Target);

  Expected<EndReason> run(llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override;

private:
  Expected<void> baselines(const llvm::Module &Loaded, ModelRunner &Policy, const EpisodeRequest &Request);

  InlinerParameters Parameters;
  measure::Measurer &Target;
  PassRunner Asking, Heuristic; // the inliner's advisor is a matter of the analysis manager
  std::optional<llvm::ModulePassManager> Parsed; // until it has run
};

} // namespace mlcb
