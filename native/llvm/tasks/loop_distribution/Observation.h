// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop's graph, and what has been decided about it, as the tensors of tasks/LoopGraph.inc.
#pragma once

#include "runner/ModelRunner.h"
#include "llvm/loops/Placement.h"
#include "llvm/observe/Vocabulary.h"

namespace mlcb {

/// Writes for every agent of the task what it reads.
class LoopObservation {
public:
  /// Without a vocabulary there is no embedding.
  LoopObservation(ModelRunner &Policy, const Vocabulary *Seeds) : Policy(Policy), Seeds(Seeds) {}

  /// Once for each loop.
  void graph(const loops::DependenceGraph &G);

  /// Before each question.
  void placement(const loops::Placement &P);

private:
  void resize(int64_t Nodes);
  void nodes(const loops::DependenceGraph &G);
  void memory(const loops::DependenceGraph &G);
  void dependences(const loops::DependenceGraph &G);
  void shared(const loops::DependenceGraph &G, std::span<float> Loads, std::span<float> Instructions);
  void loop(const loops::DependenceGraph &G);
  void copyToOthers();

  ModelRunner &Policy;
  const Vocabulary *Seeds;
};

} // namespace mlcb
