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

/// Whether it would make the module wrong: tried on a copy, for a compiler may hold what the module consists of.
static bool goesWrong(const Module &M, ModuleAnalysisManager &Modules) {
  const std::unique_ptr<Module> Copy = measure::cloneExactly(M);
  IROutlinerPass().run(*Copy, Modules);
  Modules.clear(*Copy, Copy->getName());
  return any_of(*Copy, losesOutput);
}

PreservedAnalyses OutlinerPass::run(Module &M, ModuleAnalysisManager &Modules) {
  if (M.getInstructionCount() > MaxInstructions || goesWrong(M, Modules))
    return PreservedAnalyses::all();
  return IROutlinerPass().run(M, Modules);
}

} // namespace mlcb
