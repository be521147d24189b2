// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that distributes loops, in opt and clang.
#pragma once

#include "llvm/loops/DependenceGraph.h"

#include "llvm/IR/PassManager.h"

#include <functional>

namespace llvm {
class PassBuilder;
}

namespace mlcb {

/// Distributes the innermost loops of a function. The loops that it leaves, and why, are missed optimization remarks of
/// "mlcb-loop-distribute".
class LoopDistributionPass : public llvm::PassInfoMixin<LoopDistributionPass> {
public:
  /// The partition of the Nth innermost loop of a function.
  using Answer = std::function<loops::Partition(const loops::DependenceGraph &G, unsigned Nth)>;

  /// Opens the answer about a function; null where none of its loops is distributed.
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
