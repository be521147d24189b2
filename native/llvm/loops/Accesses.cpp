// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/Accesses.h"

#include "llvm/loops/ByteDistance.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace mlcb::loops {

namespace {

/// Reads and compares the accesses of one loop.
class Reader {
public:
  Reader(const LoopBody &Body, ScalarEvolution &SE, AAResults &AA)
      : Body(Body), L(Body.loop()), SE(SE), Aliases(AA), Layout(L.getHeader()->getDataLayout()), Last(lastIteration()) {
    Aliases.enableCrossIterationMode();
  }

  std::optional<Access> read(unsigned Index);
  std::optional<Conflict> compare(const Access &A, const Access &B);

private:
  std::optional<uint64_t> lastIteration();
  MemoryLocation whereabouts(const Instruction &I) const;
  std::optional<Access::Affine> affine(Value *Pointer);
  bool isComputable(const SCEV *S) const;

  const LoopBody &Body;
  const Loop &L;
  ScalarEvolution &SE;
  BatchAAResults Aliases;
  const DataLayout &Layout;
  std::optional<uint64_t> Last;
};

std::optional<uint64_t> Reader::lastIteration() {
  const auto *Most = dyn_cast<SCEVConstant>(SE.getConstantMaxBackedgeTakenCount(&L));
  return Most && Most->getAPInt().getActiveBits() <= 63 ? std::optional(Most->getAPInt().getZExtValue()) : std::nullopt;
}

std::optional<Access> Reader::read(unsigned Index) {
  Instruction &I = Body[Index];
  if (isHint(I) || !I.mayReadOrWriteMemory())
    return std::nullopt;
  Access A{.Index = Index, .Writes = I.mayWriteToMemory(), .Where = std::nullopt, .At = std::nullopt};
  Value *Pointer = getLoadStorePointerOperand(&I);
  if (!Pointer)
    return A;
  A.Where = whereabouts(I);
  TypeSize Size = Layout.getTypeStoreSize(getLoadStoreType(&I));
  if (Size.isScalable())
    return A;
  A.Size = Size.getFixedValue();
  A.At = affine(Pointer);
  A.Bounded = A.At && isComputable(A.At->Start) && isComputable(SE.getBackedgeTakenCount(&L));
  return A;
}

MemoryLocation Reader::whereabouts(const Instruction &I) const {
  MemoryLocation Where = MemoryLocation::get(&I);
  AAMDNodes Tags = Where.AATags;
  if (Body.declaresAliasScopes())
    Tags.Scope = Tags.NoAlias = nullptr;
  return MemoryLocation::getBeforeOrAfter(Where.Ptr, Tags);
}

std::optional<Access::Affine> Reader::affine(Value *Pointer) {
  const SCEV *S = SE.getSCEV(Pointer);
  if (SE.isLoopInvariant(S, &L))
    return Access::Affine{S, 0};
  const auto *Moving = dyn_cast<SCEVAddRecExpr>(S);
  if (!Moving || Moving->getLoop() != &L || !Moving->isAffine())
    return std::nullopt;
  const auto *Step = dyn_cast<SCEVConstant>(Moving->getStepRecurrence(SE));
  if (!Step || Step->getAPInt().getSignificantBits() > MaxStepBits)
    return std::nullopt;
  return Access::Affine{Moving->getStart(), Step->getAPInt().getSExtValue()};
}

/// Whether code before the loop may compute it: a division may be reached only under a condition inside.
bool Reader::isComputable(const SCEV *S) const {
  return !isa<SCEVCouldNotCompute>(S) && SCEVExpander(SE, "").isSafeToExpandAt(S, L.getLoopPreheader()->getTerminator());
}

std::optional<Conflict> Reader::compare(const Access &A, const Access &B) {
  if (!A.Writes && !B.Writes)
    return std::nullopt;
  if (A.Where && B.Where && Aliases.isNoAlias(*A.Where, *B.Where))
    return std::nullopt;
  Conflict Found{.First = 0, .Second = 0, .Forward = true, .Backward = true, .Checkable = A.Bounded && B.Bounded, .Distance = std::nullopt};
  if (!A.At || !B.At)
    return Found;
  const SCEV *Between = SE.getMinusSCEV(B.At->Start, A.At->Start);
  if (isa<SCEVCouldNotCompute>(Between))
    return Found;
  const ConstantRange Starts = SE.getSignedRange(Between);
  if (Starts.getBitWidth() != 64)
    return Found;
  const ByteDistance Distance{.Start = {Starts.getSignedMin().getSExtValue(), Starts.getSignedMax().getSExtValue()},
                              .StepFirst = A.At->Step,
                              .StepSecond = B.At->Step,
                              .SizeFirst = A.Size,
                              .SizeSecond = B.Size,
                              .LastIteration = Last};
  Found.Forward = Distance.mayMeet(Order::Same) || Distance.mayMeet(Order::FirstEarlier);
  Found.Backward = Distance.mayMeet(Order::SecondEarlier);
  Found.Checkable &= !isa<SCEVConstant>(Between);
  Found.Distance = Distance.iterations();
  return Found.Forward || Found.Backward ? std::optional(Found) : std::nullopt;
}

} // namespace

tl::expected<AccessTable, Refusal> AccessTable::read(const LoopBody &Body, ScalarEvolution &SE, AAResults &AA) {
  AccessTable Table;
  Reader R(Body, SE, AA);
  for (unsigned Index = 0; Index < Body.size(); ++Index)
    if (std::optional<Access> A = R.read(Index))
      Table.Accesses.push_back(*A);
  if (Table.Accesses.size() > MaxAccesses)
    return tl::unexpected(Refusal::TooManyAccesses);
  for (unsigned Second = 0; Second < Table.Accesses.size(); ++Second)
    for (unsigned First = 0; First < Second; ++First)
      if (std::optional<Conflict> Found = R.compare(Table.Accesses[First], Table.Accesses[Second])) {
        Found->First = First;
        Found->Second = Second;
        Table.Conflicts.push_back(*Found);
      }
  return Table;
}

} // namespace mlcb::loops
