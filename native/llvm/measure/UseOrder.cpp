// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/UseOrder.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace mlcb::measure {

static void copyUseOrder(const Value &Original, ValueToValueMapTy &Map) {
  if (!Original.hasNUsesOrMore(2))
    return;
  Value *Copy = Map.lookup(&Original);
  SmallVector<Use *, 16> Uses;
  for (const Use &U : Original.uses())
    if (auto *User = dyn_cast_or_null<llvm::User>(Map.lookup(U.getUser())))
      Uses.push_back(&User->getOperandUse(U.getOperandNo()));
  for (Use *U : reverse(Uses)) // each comes to the front of the list
    if (U->get() == Copy)
      U->set(Copy);
}

void copyUseOrder(const Function &Original, ValueToValueMapTy &Map) {
  for (const Argument &A : Original.args())
    copyUseOrder(A, Map);
  for (const BasicBlock &Block : Original)
    copyUseOrder(Block, Map);
  for (const Instruction &I : instructions(Original))
    copyUseOrder(I, Map);
}

std::unique_ptr<Module> cloneExactly(const Module &M) {
  ValueToValueMapTy Map;
  std::unique_ptr<Module> Clone = CloneModule(M, Map);
  for (const GlobalValue &G : M.global_values())
    copyUseOrder(G, Map);
  for (const Function &F : M)
    copyUseOrder(F, Map);
  return Clone;
}

} // namespace mlcb::measure
