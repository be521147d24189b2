// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops are split as somebody says, in opt and clang.
#pragma once

#include "llvm/loops/DependenceGraph.h"

#include "llvm/IR/PassManager.h"

#include <functional>

namespace llvm {
class PassBuilder;
}

namespace mlcb {

/// Splits the innermost loops of a function. What it leaves, and why, are missed optimization remarks of
/// "mlcb-loop-distribute".
class LoopDistributionPass : public llvm::PassInfoMixin<LoopDistributionPass> {
public:
  /// How to split the Nth innermost loop of a function.
  using Answer = std::function<loops::Partition(const loops::DependenceGraph &G, unsigned Nth)>;

  /// Who answers about a function; null where nothing in it is split.
  using Open = std::function<Answer(llvm::Function &F)>;

  explicit LoopDistributionPass(Open OpenIt) : OpenIt(std::move(OpenIt)) {}

  llvm::PreservedAnalyses run(llvm::Function &F, llvm::FunctionAnalysisManager &Functions);

private:
  Open OpenIt;
};

/// The function pass `mlcb-loop-distribute<ANSWER>` (loops/FixedAnswer.h), and with -mlcb-loops=ANSWER the same before
/// the host's vectorizer.
void registerLoopDistribution(llvm::PassBuilder &Builder);

} // namespace mlcb
