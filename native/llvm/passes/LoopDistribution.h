// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops are split as somebody says, in opt and clang.
#pragma once

#include "llvm/loops/Partition.h"

#include "llvm/IR/PassManager.h"

namespace llvm {
class PassBuilder;
}

namespace mlcb {

/// Splits the innermost loops of a function. What it leaves, and why, are missed optimization remarks of "mlcb-loop-distribute".
class LoopDistributionPass : public llvm::PassInfoMixin<LoopDistributionPass> {
public:
  /// How to split the Nth innermost loop of a function.
  using Answer = std::function<loops::Partition(const loops::DependenceGraph &G, unsigned Nth)>;

  explicit LoopDistributionPass(Answer Decide) : Decide(std::move(Decide)) {}

  llvm::PreservedAnalyses run(llvm::Function &F, llvm::FunctionAnalysisManager &Functions);

private:
  Answer Decide;
};

/// The function pass `mlcb-loop-distribute<ANSWER>` (loops/Partition.h), and with -mlcb-loops=ANSWER the same before the host's vectorizer.
void registerLoopDistribution(llvm::PassBuilder &Builder);

} // namespace mlcb
