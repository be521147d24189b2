// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/UseOrder.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb::measure {

static void copyUseOrder(const Value &Original, ValueToValueMapTy &Map) {
  if (Original.hasNUsesOrMore(2)) {
    Value *Copy = Map.lookup(&Original);
    if (!Copy || Copy == &Original)
      return;
    SmallVector<Use *, 16> Uses;
    for (const Use &U : Original.uses())
      if (auto *User = dyn_cast_or_null<llvm::User>(Map.lookup(U.getUser())))
        Uses.push_back(&User->getOperandUse(U.getOperandNo()));
    for (Use *U : reverse(Uses)) // each comes to the front of the list
      if (U->get() == Copy)
        U->set(Copy);
  }
}

void copyUseOrder(const Module &From, ValueToValueMapTy &Map) {
  for (const GlobalValue &G : From.global_values())
    copyUseOrder(G, Map);
  for (const Function &F : From) {
    for (const Argument &A : F.args())
      copyUseOrder(A, Map);
    for (const BasicBlock &BB : F)
      copyUseOrder(BB, Map);
    for (const Instruction &I : instructions(F))
      copyUseOrder(I, Map);
  }
}

} // namespace mlcb::measure
