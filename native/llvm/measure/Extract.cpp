// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/Extract.h"

#include "llvm/measure/UseOrder.h"

#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace mlcb::measure {

bool assemblerSeesThrough(const Function &F) {
  if (F.isDeclarationForLinker())
    return false;
  // The latter are given a local alias, see AsmPrinter::getSymbolPreferLocal.
  return F.hasLocalLinkage() || (F.isDSOLocal() && F.canBenefitFromLocalAlias() && F.getParent()->getPIELevel() == PIELevel::Default);
}

/// Makes local names global, yet as close as before: called directly, and never mistaken for a library function of its name.
static void exposeLocal(const GlobalValue &Original, GlobalValue &Copy) {
  if (Original.hasLocalLinkage()) {
    Copy.setLinkage(GlobalValue::ExternalLinkage);
    if (Original.hasName())
      Copy.setName(Original.getName() + ".local");
  }
  if (Original.isDSOLocal()) {
    Copy.setVisibility(GlobalValue::HiddenVisibility);
    Copy.setDSOLocal(true);
  }
}

static void adaptVariable(const GlobalVariable &Original, GlobalVariable &Copy, bool Kept) {
  exposeLocal(Original, Copy);
  // A definition is aligned better than a declaration may assume.
  Copy.setAlignment(Original.getPointerAlignment(Original.getDataLayout()));
  if (Kept)
    Copy.setLinkage(GlobalValue::AvailableExternallyLinkage);
}

Extract extract(const Module &M, const DenseSet<const GlobalValue *> &Keep, Jumps Between) {
  Extract Result;
  ValueToValueMapTy Map;
  Result.Part = CloneModule(M, Map, [&](const GlobalValue *G) { return Keep.contains(G); });
  for (const GlobalVariable &G : M.globals())
    if (!G.isDeclaration() || G.hasLocalLinkage())
      adaptVariable(G, *cast<GlobalVariable>(Map[&G]), Keep.contains(&G));
  for (const Function &F : M) {
    auto &Copy = *cast<Function>(Map[&F]);
    bool Kept = Keep.contains(&F);
    if (!F.isDeclaration() && (!Kept || Between != Jumps::AsFound))
      exposeLocal(F, Copy);
    if (assemblerSeesThrough(F))
      Result.Symbols[Copy.getName()] = &F;
    if (Kept) {
      copyUseOrder(F, Map);
      Result.Originals[&Copy] = &F;
    }
  }
  return Result;
}

} // namespace mlcb::measure
