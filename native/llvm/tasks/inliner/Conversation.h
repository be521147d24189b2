// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a policy is asked about the call sites of one module, and what it answered.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/task/ActionMask.h"
#include "llvm/task/Metrics.h"
#include "llvm/tasks/inliner/CallContext.h"
#include "llvm/tasks/inliner/Parameters.h"

namespace llvm {
class CallBase;
class Module;
} // namespace llvm

namespace mlcb {

/// The conversation of one episode. Once it has failed, LLVM's heuristic answers what is still asked.
class InlineConversation {
public:
  /// Without a Target no metric is told.
  InlineConversation(const InlinerParameters &Parameters, ModelRunner &Policy, measure::Measurer *Target, llvm::ArrayRef<int64_t> Barred = {},
                  bool Verify = false);

  /// Where LLVM writes the feature of an index.
  void *feature(size_t Index) { return Policy.bytes(Index, 0).data(); }

  /// Whether to inline the call; its features have been written.
  bool ask(llvm::CallBase &Call, bool Default);

  /// Ends the episode on the module as the pipeline left it.
  Expected<EndReason> finish(const llvm::Module &M);

  const InlinerParameters &parameters() const { return Parameters; }
  const std::optional<Error> &failure() const { return Failure; }

private:
  Expected<bool> evaluate(llvm::CallBase &Call);
  Expected<void> check(const llvm::Module &M) const;
  Expected<void> measure(const llvm::Module &M);

  const InlinerParameters &Parameters;
  ModelRunner &Policy;
  measure::Measurer *Target;
  ActionMask Mask;
  CallContext Context;
  bool Verify;
  size_t Asked = 0;
  WorkClock Work;
  std::optional<Error> Failure;
};

} // namespace mlcb
