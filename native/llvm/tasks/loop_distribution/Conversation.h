// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a policy is asked about the loops of one module, and what it answered.
#pragma once

#include "llvm/task/ActionMask.h"
#include "llvm/tasks/loop_distribution/Observation.h"

#include <functional>

namespace mlcb {

/// The conversation of one episode: for each loop the selector and the distributor in turns, each asked where it has a
/// choice. Once it has failed, nothing is split.
class LoopConversation {
public:
  using Hook = std::function<void()>;

  /// Barred are answers of the distributor. Before and After are called around each question.
  LoopConversation(
      const Vocabulary *Seeds, ModelRunner &Policy, llvm::ArrayRef<int64_t> Barred = {}, Hook Before = [] {},
      Hook After = [] {})
      : Policy(Policy), Observation(Policy, Seeds), Distributing(2, Barred), Before(std::move(Before)),
        After(std::move(After)) {}

  loops::Partition answer(const loops::DependenceGraph &G);

  size_t asked() const { return Asked; }
  int64_t loops() const { return Loops; }
  int64_t parts() const { return Parts; }
  const std::optional<Error> &failure() const { return Failure; }

private:
  Expected<void> placeNext(loops::Placement &P);
  Expected<unsigned> select(llvm::ArrayRef<unsigned> Ready);
  Expected<bool> distribute(unsigned Node);
  Expected<int64_t> ask(size_t Agent, std::span<const int8_t> Mask);

  ModelRunner &Policy;
  LoopObservation Observation;
  ActionMask Distributing;
  Hook Before, After;
  size_t Asked = 0;
  int64_t Loops = 0, Parts = 0;
  std::optional<Error> Failure;
};

} // namespace mlcb
