// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/LoopBody.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace mlcb::loops {

bool isHint(const Instruction &I) { return I.isDebugOrPseudoInst() || isa<AssumeInst, NoAliasScopeDeclInst>(I); }

namespace {

std::optional<Refusal> refuseCall(const CallBase &Call) {
  if (Call.isConvergent() || Call.cannotDuplicate())
    return Refusal::NotDuplicable;
  if (Call.mayHaveSideEffects())
    return Refusal::SideEffects;
  return std::nullopt;
}

std::optional<Refusal> refuseInstruction(const Instruction &I) {
  if (isHint(I))
    return std::nullopt;
  if (I.isTerminator())
    return isa<BranchInst, SwitchInst>(I) ? std::nullopt : std::optional(Refusal::StrangeControl);
  if (I.getType()->isTokenTy())
    return Refusal::NotDuplicable;
  if (const auto *Load = dyn_cast<LoadInst>(&I))
    return Load->isSimple() ? std::nullopt : std::optional(Refusal::OrderedMemory);
  if (const auto *Store = dyn_cast<StoreInst>(&I))
    return Store->isSimple() ? std::nullopt : std::optional(Refusal::OrderedMemory);
  if (const auto *Call = dyn_cast<CallBase>(&I))
    return refuseCall(*Call);
  return I.mayReadOrWriteMemory() || isa<AllocaInst>(I) ? std::optional(Refusal::SideEffects) : std::nullopt;
}

std::optional<Refusal> refuseShape(const Loop &L) {
  if (!L.isLoopSimplifyForm())
    return Refusal::NotSimplified;
  return L.getExitBlock() && L.getExitingBlock() == L.getLoopLatch() ? std::nullopt : std::optional(Refusal::SeveralExits);
}

using Joins = DenseMap<const BasicBlock *, BasicBlock *>;

/// The block through which every way from a block to the latch, which is the last one, goes next. LLVM's post-dominators are those of a whole function:
/// of one that does not return they say nothing about a loop.
Joins findJoins(ArrayRef<BasicBlock *> Order) {
  DenseMap<const BasicBlock *, size_t> Places;
  for (auto [Place, BB] : enumerate(Order))
    Places[BB] = Place;
  Joins Found;
  for (BasicBlock *BB : drop_begin(reverse(Order))) {
    BasicBlock *Join = *succ_begin(BB);
    for (BasicBlock *Other : successors(BB))
      while (Join != Other) {
        BasicBlock *&Earlier = Places.lookup(Join) < Places.lookup(Other) ? Join : Other;
        Earlier = Found.lookup(Earlier);
      }
    Found[BB] = Join;
  }
  return Found;
}

} // namespace

tl::expected<LoopBody, Refusal> LoopBody::read(Loop &L, const LoopInfo &LI) {
  if (std::optional<Refusal> Why = refuseShape(L))
    return tl::unexpected(*Why);
  LoopBlocksRPO Order(&L);
  Order.perform(&LI);
  if (containsIrreducibleCFG<const BasicBlock *>(Order, LI))
    return tl::unexpected(Refusal::StrangeControl);
  for (const BasicBlock *BB : Order)
    for (const Instruction &I : *BB)
      if (std::optional<Refusal> Why = refuseInstruction(I))
        return tl::unexpected(*Why);
  LoopBody Body(L);
  const SmallVector<BasicBlock *> Blocks(Order.begin(), Order.end());
  Body.number(Blocks);
  Body.findBranches(Blocks);
  Body.findNeeds();
  Body.Control.resize(Body.size());
  Body.grow(Body.Control, Body.Indices.lookup(L.getLoopLatch()->getTerminator()));
  return Body;
}

void LoopBody::number(ArrayRef<BasicBlock *> Order) {
  for (BasicBlock *BB : Order)
    for (Instruction &I : *BB) {
      Indices[&I] = Instructions.size();
      Instructions.push_back(&I);
      DeclaresAliasScopes |= isa<NoAliasScopeDeclInst>(I);
    }
}

void LoopBody::findBranches(ArrayRef<BasicBlock *> Order) {
  const Joins JoinOf = findJoins(Order);
  for (BasicBlock *BB : L->blocks()) {
    if (BB == L->getLoopLatch() || BB->getTerminator()->getNumSuccessors() < 2)
      continue;
    unsigned Branch = Indices.lookup(BB->getTerminator());
    BasicBlock *Join = JoinOf.lookup(BB);
    Branches.push_back({Branch, Join});
    for (const BasicBlock *Successor : successors(BB))
      for (const BasicBlock *Decided = Successor; Decided != Join; Decided = JoinOf.lookup(Decided))
        Deciders[Decided].push_back(Branch);
  }
}

void LoopBody::findNeeds() {
  Needs.resize(size());
  for (unsigned Index = 0; Index < size(); ++Index) {
    const Instruction &I = *Instructions[Index];
    for (const Value *Operand : I.operands())
      if (std::optional<unsigned> Needed = indexOf(Operand))
        Needs[Index].push_back(*Needed);
    append_range(Needs[Index], Deciders.lookup(I.getParent()));
    // A phi tells by which way it was reached.
    if (const auto *Phi = dyn_cast<PHINode>(&I))
      for (const BasicBlock *From : Phi->blocks())
        if (L->contains(From)) {
          append_range(Needs[Index], Deciders.lookup(From));
          Needs[Index].push_back(Indices.lookup(From->getTerminator()));
        }
  }
}

std::optional<unsigned> LoopBody::indexOf(const Value *V) const {
  auto Found = Indices.find(V);
  return Found == Indices.end() ? std::nullopt : std::optional(Found->second);
}

void LoopBody::grow(Slice &S, unsigned Index) const {
  SmallVector<unsigned, 16> Work{Index};
  while (!Work.empty()) {
    unsigned Next = Work.pop_back_val();
    if (S.test(Next))
      continue;
    S.set(Next);
    append_range(Work, Needs[Next]);
  }
}

Slice LoopBody::sliceOf(unsigned Index) const {
  Slice S = Control;
  grow(S, Index);
  return S;
}

bool LoopBody::runsInEveryIteration(unsigned Index) const { return Deciders.lookup(Instructions[Index]->getParent()).empty(); }

} // namespace mlcb::loops
