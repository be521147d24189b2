// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/RecursionToLoops.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/CorrelatedValuePropagation.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/JumpThreading.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Scalar/TailRecursionElimination.h"

using namespace llvm;

namespace mlcb {

/// The passes that -Oz begins with in every function, up to where recursion becomes loops.
static FunctionPassManager simplification() {
  FunctionPassManager Passes;
  Passes.addPass(InstCombinePass(InstCombineOptions().setVerifyFixpoint(false)));
  Passes.addPass(SimplifyCFGPass(SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
  Passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  Passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  Passes.addPass(JumpThreadingPass());
  Passes.addPass(CorrelatedValuePropagationPass());
  Passes.addPass(SimplifyCFGPass(SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
  Passes.addPass(InstCombinePass(InstCombineOptions().setVerifyFixpoint(false)));
  Passes.addPass(TailCallElimPass());
  return Passes;
}

/// Those that have a body and may come back to themselves.
static SmallVector<Function *> recursiveFunctions(Module &M) {
  SmallVector<Function *> Found;
  CallGraph Calls(M);
  for (auto Component = scc_begin(&Calls); !Component.isAtEnd(); ++Component)
    for (const CallGraphNode *Node : *Component)
      if (Function *F = Node->getFunction(); F && Component.hasCycle() && !F->isDeclaration() && !F->hasOptNone())
        Found.push_back(F);
  return Found;
}

PreservedAnalyses RecursionToLoopsPass::run(Module &M, ModuleAnalysisManager &Modules) {
  FunctionAnalysisManager &Functions = Modules.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  FunctionPassManager Passes = simplification();
  for (Function *F : recursiveFunctions(M))
    Functions.invalidate(*F, Passes.run(*F, Functions));
  return PreservedAnalyses::none();
}

} // namespace mlcb
