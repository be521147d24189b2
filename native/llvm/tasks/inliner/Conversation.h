// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions about the call sites of one module.
#pragma once

#include "llvm/task/ActionMask.h"
#include "llvm/task/Conversation.h"
#include "llvm/tasks/inliner/CallContext.h"
#include "llvm/tasks/inliner/Parameters.h"

namespace llvm {
class CallBase;
} // namespace llvm

namespace mlcb {

/// Asks whether to inline a call. After a failure LLVM's heuristic decides.
class InlineConversation final : public Conversation {
public:
  InlineConversation(llvm::Module &M, InlinerParameters Parameters, ModelRunner &Policy, const EpisodeRequest &Request,
                     Measurement Measure = nullptr);

  /// The buffer of the feature with an index, which LLVM fills.
  void *feature(size_t Index) { return policy().bytes(Index, 0).data(); }

  /// Whether to inline the call; its features have been written.
  bool ask(llvm::CallBase &Call, bool Default);

  const InlinerParameters &parameters() const { return Parameters; }

private:
  Expected<bool> evaluate();

  InlinerParameters Parameters;
  ActionMask Mask;
  CallContext Context;
};

} // namespace mlcb
