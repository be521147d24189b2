// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops in the place of recursion, for pipelines that do not simplify before they inline.
#pragma once

#include "llvm/IR/PassManager.h"

namespace mlcb {

/// Simplifies functions that call themselves, directly or through others of the module, as far as tail calls become loops and jumps: programs rely
/// on it at every level of LLVM but -O0, though no standard of C does.
class RecursionToLoopsPass : public llvm::PassInfoMixin<RecursionToLoopsPass> {
public:
  static constexpr llvm::StringLiteral Name = "recursion-to-loops";

  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &Modules);
};

} // namespace mlcb
