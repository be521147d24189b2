// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fills the tensors and metrics of posetrl.def.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/observe/ModuleObserver.h"
#include "llvm/task/ActionMask.h"
#include "llvm/task/Baselines.h"
#include "runner/ModelRunner.h"

namespace mlcb {

/// What a policy is told of an episode of PosetRL.
class PosetRLObservation {
public:
  PosetRLObservation(ModelRunner &Policy, const ModuleObserver &Observer, measure::Measurer &Target, bool IsCompared)
      : Policy(Policy), Observer(Observer), Target(Target), IsCompared(IsCompared) {}

  /// Whether an episode needs the embedding: the policy reads it, or fingerprint() tells by it what an action has done.
  static bool embeds(const ModelRunner &Policy, bool IsCompared);

  /// Metrics of the program as it was loaded; they stay for the episode.
  Expected<void> baselines(const llvm::Module &Loaded, BaselineMeter Meter);

  /// The module now. The first call fixes what the initial instruction count is.
  void module(llvm::Module &M);

  void history(llvm::ArrayRef<int64_t> Taken, int64_t MaxSteps);
  void mask(const ActionMask &Mask);
  Expected<void> metrics(const llvm::Module &M);

  /// Differs where what a policy sees of the module differs.
  uint64_t fingerprint() const;

private:
  ModelRunner &Policy;
  const ModuleObserver &Observer;
  measure::Measurer &Target;
  bool IsCompared; // whether fingerprint() is asked
  int64_t InitialInstructions = -1;
};

} // namespace mlcb
