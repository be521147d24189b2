// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/TailCalls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace mlcb {

/// The first instruction from here on that may do anything but select what is returned.
static const Instruction *firstAtWork(const Instruction *I) {
  while (I && (I->isDebugOrPseudoInst() || isa<PHINode, CastInst, ExtractValueInst, InsertValueInst>(I) || I->isLifetimeStartOrEnd()))
    I = I->getNextNode();
  return I;
}

bool isInTailPosition(const CallInst &Call) {
  if (!Call.isTailCall())
    return false;
  const Instruction *Next = firstAtWork(Call.getNextNode());
  // Code generation repeats a return in the blocks that branch to it.
  if (const auto *Branch = dyn_cast_or_null<BranchInst>(Next); Branch && Branch->isUnconditional())
    Next = firstAtWork(&Branch->getSuccessor(0)->front());
  return isa_and_nonnull<ReturnInst>(Next);
}

bool TailChains::end(const Function &F) {
  if (const auto Known = Ends.find(&F); Known != Ends.end())
    return Known->second;
  Ends[&F] = false;
  const bool Found = all_of(instructions(F), [&](const Instruction &I) {
    const auto *Call = dyn_cast<CallInst>(&I);
    if (!Call || isa<IntrinsicInst>(Call) || Call->isInlineAsm() || !isInTailPosition(*Call))
      return true;
    const Function *Callee = Call->getCalledFunction();
    return Callee && !Call->isMustTailCall() && (Callee->hasExactDefinition() ? end(*Callee) : Callee->hasFnAttribute(Attribute::NoCallback));
  });
  return Ends[&F] = Found;
}

} // namespace mlcb
