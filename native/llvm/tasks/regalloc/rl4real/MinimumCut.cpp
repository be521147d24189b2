// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/MinimumCut.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace mlcb::rl4real {

static constexpr double Nothing = 1e-9; // what is left of a capacity by rounding

void MinimumCut::join(size_t One, size_t Other, double Capacity, double Back) {
  From[One].push_back(Arcs.size());
  Arcs.push_back({Other, Capacity});
  From[Other].push_back(Arcs.size());
  Arcs.push_back({One, Back});
}

bool MinimumCut::rank(size_t Source, size_t Sink) {
  Rank.assign(From.size(), 0);
  SmallVector<size_t, 16> Reached{Source};
  Rank[Source] = 1;
  for (size_t I = 0; I < Reached.size(); ++I)
    for (const size_t Index : From[Reached[I]])
      if (const Arc &Each = Arcs[Index]; Each.Left > Nothing && !Rank[Each.To]) {
        Rank[Each.To] = Rank[Reached[I]] + 1;
        Reached.push_back(Each.To);
      }
  return Rank[Sink];
}

double MinimumCut::push(size_t Node, size_t Sink, double Most) {
  if (Node == Sink)
    return Most;
  for (; Next[Node] < From[Node].size(); ++Next[Node]) {
    const size_t Index = From[Node][Next[Node]];
    if (Arcs[Index].Left <= Nothing || Rank[Arcs[Index].To] != Rank[Node] + 1)
      continue;
    if (const double Pushed = push(Arcs[Index].To, Sink, std::min(Most, Arcs[Index].Left)); Pushed > 0) {
      Arcs[Index].Left -= Pushed;
      Arcs[Index ^ 1].Left += Pushed;
      return Pushed;
    }
  }
  return 0;
}

SmallBitVector MinimumCut::cut(size_t Source, size_t Sink) {
  while (rank(Source, Sink)) {
    Next.assign(From.size(), 0);
    while (push(Source, Sink, HUGE_VAL) > 0)
      ;
  }
  SmallBitVector Side(From.size());
  for (size_t Node = 0; Node < From.size(); ++Node)
    Side[Node] = Rank[Node] != 0;
  return Side;
}

} // namespace mlcb::rl4real
