// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/Outliner.h"

#include "llvm/measure/UseOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/IPO/IROutliner.h"

using namespace llvm;

namespace mlcb {

static constexpr unsigned MaxInstructions = 5000;

/// Whether an outlined function has an output that it never stores.
static bool losesOutput(const Function &F) {
  const auto IsLost = [&](const BasicBlock &Block) {
    return &Block != &F.getEntryBlock() && pred_empty(&Block) && any_of(Block, [](const Instruction &I) { return isa<StoreInst>(I); });
  };
  return F.getName().starts_with("outlined_ir_func_") && any_of(F, IsLost);
}

PreservedAnalyses OutlinerPass::run(Module &M, ModuleAnalysisManager &Modules) {
  if (M.getInstructionCount() > MaxInstructions)
    return PreservedAnalyses::all();
  std::unique_ptr<Module> Before = measure::cloneExactly(M);
  PreservedAnalyses Preserved = IROutlinerPass().run(M, Modules);
  if (none_of(M, losesOutput))
    return Preserved;
  M = std::move(*Before);
  return PreservedAnalyses::none();
}

} // namespace mlcb
