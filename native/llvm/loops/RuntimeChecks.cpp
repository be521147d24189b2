// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/RuntimeChecks.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"

using namespace llvm;

namespace mlcb::loops {

RangeTable::RangeTable(const LoopBody &Body, ArrayRef<Access> Accesses, ScalarEvolution &SE) : Body(Body), SE(SE) {
  for (const Access &A : Accesses)
    if (A.Bounded)
      add(A, Body.runsInEveryIteration(A.Index));
    else
      RangeOf.emplace_back();
}

std::optional<int64_t> RangeTable::offsetIn(const Range &R, const Access &A) const {
  const auto *Offset = dyn_cast<SCEVConstant>(SE.getMinusSCEV(A.At->Start, R.At.Start));
  return Offset && A.At->Step == R.At.Step ? Offset->getAPInt().trySExtValue() : std::nullopt;
}

void RangeTable::add(const Access &A, bool Always) {
  for (auto [Index, R] : enumerate(Ranges))
    if (std::optional<int64_t> Offset = offsetIn(R, A)) {
      R.Low = std::min(R.Low, *Offset);
      R.High = std::max(R.High, *Offset + A.Size);
      R.MayWrap |= !Always;
      RangeOf.emplace_back(Index);
      return;
    }
  RangeOf.emplace_back(Ranges.size());
  Ranges.push_back({*A.At, 0, A.Size, !Always});
}

std::optional<RangeTable::Pair> RangeTable::pairOf(const Conflict &C) const {
  std::optional<unsigned> First = RangeOf[C.First], Second = RangeOf[C.Second];
  if (!C.Checkable || !First || !Second || First == Second)
    return std::nullopt;
  if (Ranges[*First].At.Start->getType() != Ranges[*Second].At.Start->getType()) // address spaces
    return std::nullopt;
  return std::minmax(*First, *Second);
}

/// The lowest byte, or that after the highest one.
const SCEV *RangeTable::bound(const Range &R, bool Upper) const {
  const Loop &L = Body.loop();
  Type *Index = SE.getEffectiveSCEVType(R.At.Start->getType());
  const SCEV *Way = SE.getMulExpr(SE.getTruncateOrZeroExtend(SE.getBackedgeTakenCount(&L), Index), SE.getConstant(Index, R.At.Step, true));
  const bool AtEnd = Upper == (R.At.Step > 0);
  const SCEV *Base = AtEnd ? SE.getAddExpr(R.At.Start, Way) : R.At.Start;
  return SE.getAddExpr(Base, SE.getConstant(Index, Upper ? R.High : R.Low, true));
}

Value *RangeTable::emitPair(Pair P, SCEVExpander &Expander, Instruction *Before) const {
  IRBuilder<> Code(Before);
  auto Bound = [&](unsigned Which, bool Upper) {
    const SCEV *S = bound(Ranges[Which], Upper);
    return Expander.expandCodeFor(S, S->getType(), Before);
  };
  Value *LowA = Bound(P.first, false), *HighA = Bound(P.first, true);
  Value *LowB = Bound(P.second, false), *HighB = Bound(P.second, true);
  Value *Overlap = Code.CreateAnd(Code.CreateICmpULT(LowA, HighB), Code.CreateICmpULT(LowB, HighA));
  if (Ranges[P.first].MayWrap)
    Overlap = Code.CreateOr(Overlap, Code.CreateICmpULT(HighA, LowA));
  if (Ranges[P.second].MayWrap)
    Overlap = Code.CreateOr(Overlap, Code.CreateICmpULT(HighB, LowB));
  // An address that is poison is never used, so whatever comes of it is right for this pair, but not for others.
  return Code.CreateFreeze(Overlap);
}

Value *RangeTable::emitOverlap(const std::set<Pair> &Pairs, Instruction *Before) const {
  SCEVExpander Expander(SE, "mlcb.bound");
  Value *Any = nullptr;
  for (Pair P : Pairs) {
    Value *Overlap = emitPair(P, Expander, Before);
    Any = Any ? IRBuilder<>(Before).CreateOr(Any, Overlap) : Overlap;
  }
  return Any;
}

} // namespace mlcb::loops
