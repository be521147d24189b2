// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions about the loops of one module.
#pragma once

#include "llvm/task/ActionMask.h"
#include "llvm/task/Conversation.h"
#include "llvm/tasks/loop_distribution/Observation.h"

namespace mlcb {

/// Asks about each loop the selector and the distributor in turns, each where it has a choice. After a failure no loop is distributed.
class LoopConversation final : public Conversation {
public:
  /// Request forbids answers of the distributor.
  LoopConversation(llvm::Module &M, const Vocabulary *Seeds, ModelRunner &Policy, const EpisodeRequest &Request)
      : Conversation(M, Policy, Request), Observation(Policy, Seeds), Distributing(2, Request.Forbidden) {}

  loops::Partition answer(const loops::DependenceGraph &G);

  int64_t loops() const { return Loops; }
  int64_t parts() const { return Parts; }

private:
  Expected<void> placeNext(loops::Placement &P);
  Expected<unsigned> select(llvm::ArrayRef<unsigned> Ready);
  Expected<bool> distribute(unsigned Node);
  Expected<int64_t> choose(size_t Agent, std::span<const int8_t> Mask);

  LoopObservation Observation;
  ActionMask Distributing;
  int64_t Loops = 0, Parts = 0;
};

} // namespace mlcb
