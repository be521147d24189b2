// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IR2Vec embeddings of whole functions and modules, without a vector per instruction.
#pragma once

#include "llvm/observe/Vocabulary.h"

#include <array>
#include <span>

namespace llvm {
class Function;
class Instruction;
} // namespace llvm

namespace mlcb {

/// How often each entity stands in a program: what its embedding is a linear function of.
///
/// An embedding is a sum of seed vectors, each as often as its entity is met (symbolic), or as often as it is reached along the
/// def-use chains (flow-aware). Counting first and multiplying with the vocabulary once costs a few scalar operations for
/// each operand, whatever the dimension; LLVM's llvm::ir2vec::Embedder adds a vector of doubles for each.
class EntityCounts {
public:
  /// Symbolic: every operand counts as its kind.
  void addSymbolic(const llvm::Function &F);
  void addSymbolic(const llvm::Instruction &I);

  /// Flow-aware: an operand that an earlier instruction defines (in depth-first order of blocks) counts as all that this definition
  /// consists of, times FlowWeight.
  void addFlowAware(const llvm::Function &F, double FlowWeight = 0.2);

  std::span<const double> counts() const { return Counts; }

  /// The embedding: counts times vocabulary.
  void embed(const Vocabulary &V, std::span<float> Out) const;

private:
  std::array<double, NumEntities> Counts = {};
};

} // namespace mlcb
