// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/FixedAnswer.h"

#include "llvm/loops/Placement.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/Support/xxhash.h"

#include <random>

using namespace llvm;

namespace mlcb::loops {

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

Partition FixedAnswer::operator()(const DependenceGraph &G, unsigned Nth) const { return How == Kind::Cuts ? cutAlong(G) : draw(G, Nth); }

Partition FixedAnswer::cutAlong(const DependenceGraph &G) const {
  Placement P(G);
  for (unsigned N = 0; N < G.nodes().size(); ++N)
    P.place(N, N > 0 && (Value >> (N - 1) & 1));
  return P.partition();
}

Partition FixedAnswer::draw(const DependenceGraph &G, unsigned Nth) const {
  const StringRef Name = G.body().loop().getHeader()->getParent()->getName();
  std::mt19937_64 Draw(Value ^ xxh3_64bits(Name) ^ Nth); // the same everywhere, unlike the distributions of the standard library
  Placement P(G);
  while (!P.isDone()) {
    const SmallVector<unsigned> Ready = P.ready();
    const unsigned Node = Ready[Draw() % Ready.size()];
    P.place(Node, Draw() % 2);
  }
  return P.partition();
}

} // namespace mlcb::loops
