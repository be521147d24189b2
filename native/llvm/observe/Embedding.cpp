// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/observe/Embedding.h"

#include "llvm/ADT/DepthFirstIterator.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstrTypes.h"

#include <algorithm>
#include <vector>

using namespace llvm;

namespace mlcb {

using LlvmVocabulary = ir2vec::Vocabulary;

/// Opcode, type and predicate: what an instruction is, apart from its operands.
template <class Add> static void forEachOwnEntity(const Instruction &I, Add &&AddEntity) {
  AddEntity(LlvmVocabulary::getIndex(I.getOpcode()));
  AddEntity(LlvmVocabulary::getIndex(I.getType()->getTypeID()));
  if (const auto *Cmp = dyn_cast<CmpInst>(&I))
    AddEntity(LlvmVocabulary::getIndex(Cmp->getPredicate()));
}

/// The instructions that IR2Vec sees, in its order: blocks reachable from the entry, depth first.
static std::vector<const Instruction *> instructionsOf(const Function &F) {
  std::vector<const Instruction *> Instructions;
  if (F.isDeclaration())
    return Instructions;
  for (const BasicBlock *BB : depth_first(&F))
    for (const Instruction &I : BB->instructionsWithoutDebug())
      Instructions.push_back(&I);
  return Instructions;
}

void EntityCounts::addSymbolic(const Function &F) {
  for (const Instruction *I : instructionsOf(F))
    addSymbolic(*I);
}

void EntityCounts::addSymbolic(const Instruction &I) {
  forEachOwnEntity(I, [&](Entity E) { Counts[E] += 1; });
  for (const Value *Operand : I.operand_values())
    Counts[LlvmVocabulary::getIndex(*Operand)] += 1;
}

void EntityCounts::addFlowAware(const Function &F, double FlowWeight) {
  std::vector<const Instruction *> Order = instructionsOf(F);
  DenseMap<const Value *, unsigned> Position(Order.size());
  for (auto [Index, I] : enumerate(Order))
    Position[I] = Index;

  // Backwards: when an instruction is reached, all its later users have told how often they count it.
  std::vector<double> Reached(Order.size(), 1.0);
  for (unsigned Index = Order.size(); Index-- > 0;) {
    const Instruction &I = *Order[Index];
    double Times = Reached[Index];
    forEachOwnEntity(I, [&](Entity E) { Counts[E] += Times; });
    for (const Value *Operand : I.operand_values()) {
      auto Definition = Position.find(Operand);
      if (Definition != Position.end() && Definition->second < Index)
        Reached[Definition->second] += Times * FlowWeight;
      else
        Counts[LlvmVocabulary::getIndex(*Operand)] += Times;
    }
  }
}

void EntityCounts::embed(const Vocabulary &V, std::span<float> Out) const {
  std::vector<double> Sum(Out.size());
  for (Entity E = 0; E < NumEntities; ++E)
    if (const double Count = Counts[E]) {
      const ArrayRef<float> Seed = V[E];
      for (size_t I = 0, Length = std::min(Sum.size(), Seed.size()); I < Length; ++I) // by index, which compilers vectorize
        Sum[I] += Count * Seed[I];
    }
  std::ranges::copy(Sum, Out.begin());
}

} // namespace mlcb
