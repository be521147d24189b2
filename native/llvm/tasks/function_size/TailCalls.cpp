// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/TailCalls.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace mlcb {

/// Whether code generation may leave it out after a call that becomes a jump: it selects what is returned, or nothing comes of it.
static bool isIdle(const Instruction &I) {
  if (I.isDebugOrPseudoInst() || isa<PHINode, CastInst, ExtractValueInst, InsertValueInst>(I))
    return true;
  if (const auto *Intrinsic = dyn_cast<IntrinsicInst>(&I))
    return Intrinsic->isAssumeLikeIntrinsic() || Intrinsic->getIntrinsicID() == Intrinsic::fake_use;
  return !I.isTerminator() && !I.mayHaveSideEffects() && !I.mayReadFromMemory() &&
         none_of(I.users(), [](const User *U) { return isa<ReturnInst, PHINode>(U); });
}

bool isInTailPosition(const CallInst &Call) {
  if (!Call.isTailCall())
    return false;
  const Instruction *Next = Call.getNextNode();
  // Code generation merges empty blocks, and repeats a return in the blocks that branch to it.
  for (SmallPtrSet<const BasicBlock *, 4> Seen; Next;) {
    while (Next && isIdle(*Next))
      Next = Next->getNextNode();
    const auto *Branch = dyn_cast_or_null<BranchInst>(Next);
    if (!Branch || !Branch->isUnconditional() || !Seen.insert(Branch->getParent()).second)
      break;
    Next = &Branch->getSuccessor(0)->front();
  }
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
