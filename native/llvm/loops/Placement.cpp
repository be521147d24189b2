// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llvm;

namespace mlcb::loops {

SmallVector<unsigned> Placement::ready() const {
  const auto Nodes = seq<unsigned>(PartOf.size());
  auto Waits = [&](unsigned N, unsigned Other) { return Other != N && PartOf[Other] == Unplaced && G.mustPrecede(Other, N); };
  return SmallVector<unsigned>(
      make_filter_range(Nodes, [&](unsigned N) { return PartOf[N] == Unplaced && none_of(Nodes, [&](unsigned Other) { return Waits(N, Other); }); }));
}

void Placement::place(unsigned Node, bool Apart) {
  PartOf[Node] = Last == Unplaced ? 0 : PartOf[Last] + Apart;
  Last = Node;
  ++Placed;
}

} // namespace mlcb::loops
