// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy inside a compiler that runs its own pipeline.
#pragma once

#include "llvm/deploy/PolicySet.h"

namespace mlcb {

/// A policy at work in a host, from its first question to its end: its learner hears of that, and the compilation of a failure.
template <class QuestionsT> class Hosted {
public:
  /// Make gives the questions to the policy.
  template <class MakeT>
  Hosted(llvm::Module &M, std::unique_ptr<ModelRunner> Policy, MakeT Make)
      : M(M), Policy(std::move(Policy)), Questions(Make(*this->Policy)) {}

  ~Hosted() {
    Expected<void> Done = Questions.failure()
                              ? Unexpected(*Questions.failure())
                              : Policy->end(Questions.asked() ? EndReason::Exhausted : EndReason::NoDecisions);
    if (!Done)
      refuse(M, Done.error());
  }

  QuestionsT &questions() { return Questions; }

private:
  llvm::Module &M;
  std::unique_ptr<ModelRunner> Policy;
  QuestionsT Questions;
};

} // namespace mlcb
