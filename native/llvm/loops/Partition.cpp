// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/Partition.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Analysis/LoopInfo.h"

#include <random>

using namespace llvm;

namespace mlcb::loops {

namespace {

/// Parts of nodes that are placed one by one, a cut before those that the mask says.
Partition cutAlong(ArrayRef<unsigned> Placed, function_ref<bool(unsigned)> IsCutBefore) {
  Partition PartOf(Placed.size());
  unsigned Part = 0;
  for (unsigned Position = 0; Position < Placed.size(); ++Position) {
    Part += Position > 0 && IsCutBefore(Position);
    PartOf[Placed[Position]] = Part;
  }
  return PartOf;
}

using Random = std::mt19937_64; // the same everywhere, unlike the distributions of the standard library

SmallVector<unsigned> anyOrder(const DependenceGraph &G, Random &Draw) {
  const unsigned Size = G.nodes().size();
  SmallVector<unsigned> Placed;
  while (Placed.size() < Size) {
    auto IsReady = [&](unsigned N) {
      return !is_contained(Placed, N) && all_of(seq(Size), [&](unsigned Other) {
        return Other == N || is_contained(Placed, Other) || !G.mustPrecede(Other, N);
      });
    };
    SmallVector<unsigned> Ready(make_filter_range(seq(Size), IsReady));
    Placed.push_back(Ready[Draw() % Ready.size()]);
  }
  return Placed;
}

} // namespace

llvm::Expected<FixedAnswer> FixedAnswer::parse(StringRef Text) {
  uint64_t Value = 0;
  if (Text == "never")
    return FixedAnswer(Kind::Cuts, 0);
  if (Text == "always")
    return FixedAnswer(Kind::Cuts, ~uint64_t{0});
  StringRef Number = Text;
  if (Number.consume_front("cuts=") && !Number.getAsInteger(0, Value))
    return FixedAnswer(Kind::Cuts, Value);
  if (Number.consume_front("random=") && !Number.getAsInteger(0, Value))
    return FixedAnswer(Kind::Random, Value);
  return createStringError("'" + Text + "', expected never, always, cuts=MASK or random=SEED");
}

Partition FixedAnswer::operator()(const DependenceGraph &G, unsigned Nth) const {
  const unsigned Size = G.nodes().size();
  if (How == Kind::Cuts)
    return cutAlong(to_vector(seq(Size)), [&](unsigned Position) { return Value >> (Position - 1) & 1; });
  const StringRef Name = G.body().loop().getHeader()->getParent()->getName();
  Random Draw(Value ^ xxh3_64bits(Name) ^ Nth);
  return cutAlong(anyOrder(G, Draw), [&](unsigned) { return Draw() % 2; });
}

} // namespace mlcb::loops
