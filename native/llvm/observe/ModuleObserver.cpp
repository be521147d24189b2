// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/observe/ModuleObserver.h"

#include "llvm/observe/Properties.h"

#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

#include <algorithm>

using namespace llvm;

namespace mlcb {

void ModuleObserver::observe(Module &M, ModuleView Out) const {
  std::ranges::fill(Out.Opcodes, 0);
  std::ranges::fill(Out.Properties, 0);
  EntityCounts Counts;
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    if (!Out.Opcodes.empty())
      for (const Instruction &I : instructions(F))
        ++Out.Opcodes[I.getOpcode() - 1];
    if (!Out.Properties.empty())
      addProperties(F, Out.Properties);
    if (!Out.Embedding.empty())
      add(F, Counts);
  }
  if (!Out.Embedding.empty())
    Counts.embed(*Seeds, Out.Embedding);
}

void ModuleObserver::add(const Function &F, EntityCounts &Counts) const {
  if (Kind == EmbeddingKind::FlowAware)
    Counts.addFlowAware(F);
  else
    Counts.addSymbolic(F);
}

} // namespace mlcb
