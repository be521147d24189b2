// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/Distribute.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include <deque>

using namespace llvm;

namespace mlcb::loops {

namespace {

/// A loop that is a copy of the original one, or that itself.
struct Copy {
  Loop *L = nullptr;
  ValueToValueMapTy Map; // from the original; empty for itself
  Slice Needed;

  template <class T> T *operator()(T *Original) const {
    auto Found = Map.find(Original);
    return Found == Map.end() ? Original : cast<T>(static_cast<Value *>(Found->second));
  }
};

class Distributor {
public:
  Distributor(const DependenceGraph &G, ArrayRef<unsigned> PartOf, const Analyses &A)
      : G(G), Body(G.body()), L(Body.loop()), A(A), Parts(1 + *max_element(PartOf)), Checks(G.checksFor(PartOf)) {
    for (Copy &Part : Parts)
      Part.Needed = Body.control();
    for (auto [N, Part] : zip(G.nodes(), PartOf))
      Parts[Part].Needed |= N.Needed;
  }

  void run();

private:
  void prepare();
  void cloneBefore(BasicBlock *Next, Copy &C, const Twine &Suffix);
  void cloneParts();
  void addFallback(Value *Overlap);
  void takeResultsFromParts();
  void prune(Copy &Part);
  void dropUnneeded(Copy &Part);
  void removeUnreachable(Loop &Of);
  void restoreForms();

  /// The part whose values stand for the loop's after it: the last that computes them.
  const Copy &ownerOf(unsigned Index) const {
    return *find_if(reverse(Parts), [&](const Copy &Part) { return Part.Needed.test(Index); });
  }

  const DependenceGraph &G;
  const LoopBody &Body;
  Loop &L;
  const Analyses &A;
  std::deque<Copy> Parts; // the last is the loop itself
  std::set<RangeTable::Pair> Checks;
  std::optional<Copy> Fallback;
  BasicBlock *Before = nullptr, *Entry = nullptr, *Exit = nullptr; // the entry is the loop's preheader, and empty
};

void Distributor::run() {
  prepare();
  Value *Overlap = Checks.empty() ? nullptr : G.ranges().emitOverlap(Checks, Before->getTerminator());
  A.SE.forgetTopmostLoop(&L);
  A.SE.forgetBlockAndLoopDispositions();
  cloneParts();
  if (Overlap)
    addFallback(Overlap);
  takeResultsFromParts();
  for (Copy &Part : Parts)
    prune(Part);
  restoreForms();
}

void Distributor::prepare() {
  formLCSSA(L, A.DT, &A.LI, &A.SE);
  Before = L.getLoopPreheader();
  Entry = SplitBlock(Before, Before->getTerminator(), &A.DT, &A.LI);
  Exit = L.getExitBlock();
  if (!Body.declaresAliasScopes())
    return;
  for (BasicBlock *BB : L.blocks())
    for (Instruction &I : *BB)
      for (unsigned Kind : {LLVMContext::MD_alias_scope, LLVMContext::MD_noalias})
        I.setMetadata(Kind, nullptr);
}

/// Makes a copy of the whole loop that goes on to another block when it is done.
void Distributor::cloneBefore(BasicBlock *Next, Copy &C, const Twine &Suffix) {
  SmallVector<BasicBlock *, 8> Blocks;
  C.L = cloneLoopWithPreheader(Next == Exit ? Entry : Next, Before, &L, C.Map, Suffix, &A.LI, &A.DT, Blocks);
  C.Map[Exit] = Next;
  remapInstructionsInBlocks(Blocks, C.Map);
  C.Map.erase(Exit);
}

void Distributor::cloneParts() {
  Parts.back().L = &L;
  BasicBlock *Next = Entry;
  for (unsigned Part = Parts.size() - 1; Part-- > 0;) {
    cloneBefore(Next, Parts[Part], ".part" + Twine(Part));
    Next = Parts[Part].L->getLoopPreheader();
  }
  Before->getTerminator()->replaceSuccessorWith(Entry, Next);
  for (auto [Earlier, Later] : zip(Parts, drop_begin(Parts)))
    A.DT.changeImmediateDominator(Later.L->getLoopPreheader(), Earlier.L->getLoopLatch());
}

/// The loop as it was, for where what was checked does not hold.
void Distributor::addFallback(Value *Overlap) {
  Fallback.emplace();
  cloneBefore(Exit, *Fallback, ".whole");
  for (PHINode &Phi : Exit->phis())
    Phi.addIncoming((*Fallback)(Phi.getIncomingValueForBlock(L.getLoopLatch())), (*Fallback)(L.getLoopLatch()));
  Instruction *Jump = Before->getTerminator();
  IRBuilder<>(Jump).CreateCondBr(Overlap, Fallback->L->getLoopPreheader(), Parts.front().L->getLoopPreheader(),
                                 MDBuilder(A.F.getContext()).createUnlikelyBranchWeights());
  Jump->eraseFromParent();
  A.DT.changeImmediateDominator(Exit, Before);
  addStringMetadataToLoop(Fallback->L, "mlcb.loop.whole"); // for cost models
}

void Distributor::takeResultsFromParts() {
  for (PHINode &Phi : Exit->phis()) {
    A.SE.forgetValue(&Phi);
    Use &Result = Phi.getOperandUse(Phi.getBasicBlockIndex(L.getLoopLatch()));
    if (std::optional<unsigned> Index = Body.indexOf(Result))
      Result.set(ownerOf(*Index)(Result.get()));
  }
}

/// Leaves of a copy what its part needs. The original is the last one to be pruned.
void Distributor::prune(Copy &Part) {
  SmallVector<std::pair<BranchInst *, BasicBlock *>, 4> Jumps;
  SmallVector<DominatorTree::UpdateType, 8> Updates;
  for (const LoopBody::Branch &B : Body.branches())
    if (!Part.Needed.test(B.Index)) {
      BasicBlock *From = Part(&Body[B.Index])->getParent(), *To = Part(B.Join);
      Jumps.push_back({BranchInst::Create(To), From});
      const SmallSetVector<BasicBlock *, 4> Old(succ_begin(From), succ_end(From));
      for (BasicBlock *Next : Old)
        if (Next != To)
          Updates.push_back({DominatorTree::Delete, From, Next});
      if (!Old.contains(To))
        Updates.push_back({DominatorTree::Insert, From, To});
    }
  dropUnneeded(Part);
  for (auto [Jump, From] : Jumps)
    Jump->insertInto(From, From->end());
  DomTreeUpdater(A.DT, DomTreeUpdater::UpdateStrategy::Eager).applyUpdates(Updates);
  removeUnreachable(*Part.L);
  for (BasicBlock *BB : to_vector(Part.L->blocks()))
    MergeBlockIntoPredecessor(BB, nullptr, &A.LI, nullptr, nullptr, false, &A.DT);
}

void Distributor::dropUnneeded(Copy &Part) {
  for (unsigned Index = Body.size(); Index-- > 0;) {
    Instruction &I = Body[Index];
    if (Part.Needed.test(Index) || (I.isTerminator() && I.getNumSuccessors() == 1))
      continue;
    Instruction *Dropped = Part(&I);
    Dropped->replaceAllUsesWith(PoisonValue::get(Dropped->getType()));
    Dropped->eraseFromParent();
  }
}

void Distributor::removeUnreachable(Loop &Of) {
  SmallPtrSet<BasicBlock *, 16> Reached{Of.getHeader()};
  SmallVector<BasicBlock *, 16> Work{Of.getHeader()};
  while (!Work.empty())
    for (BasicBlock *Next : successors(Work.pop_back_val()))
      if (Of.contains(Next) && Reached.insert(Next).second)
        Work.push_back(Next);
  SmallVector<BasicBlock *, 8> Dead;
  copy_if(Of.blocks(), std::back_inserter(Dead), [&](BasicBlock *BB) { return !Reached.contains(BB); });
  for (BasicBlock *BB : Dead)
    A.LI.removeBlock(BB);
  DeleteDeadBlocks(Dead);
}

/// Restores what LLVM expects of loops and knows of functions.
void Distributor::restoreForms() {
  SmallVector<Loop *, 4> Loops;
  for (Copy &Part : Parts)
    Loops.push_back(Part.L);
  if (Fallback)
    Loops.push_back(Fallback->L);
  for (Loop *Each : Loops) {
    formDedicatedExitBlocks(Each, &A.DT, &A.LI, nullptr, /*PreserveLCSSA=*/true);
    formLCSSA(*Each, A.DT, &A.LI, &A.SE);
    if (MDNode *Id = Each->getLoopID(); Id && Each != &L)
      Each->setLoopID(makePostTransformationMetadata(A.F.getContext(), Id, {}, {}));
  }
}

} // namespace

bool distribute(const DependenceGraph &G, ArrayRef<unsigned> PartOf, const Analyses &A) {
  if (all_of(PartOf, [](unsigned Part) { return Part == 0; }))
    return false;
  Distributor(G, PartOf, A).run();
  return true;
}

} // namespace mlcb::loops
