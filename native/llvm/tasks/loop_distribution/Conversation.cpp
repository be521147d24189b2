// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/loop_distribution/Conversation.h"

#include "spec/Tasks.h"

using namespace llvm;

namespace mlcb {

using loop_distribution::Agent;
using loop_distribution::distributor;
using loop_distribution::selector;

loops::Partition LoopConversation::answer(const loops::DependenceGraph &G) {
  loops::Placement P(G);
  if (!failure())
    Observation.graph(G);
  while (!failure() && !P.isDone())
    if (Expected<void> Done = placeNext(P); !Done)
      abandon(Done.error());
  if (failure())
    return loops::Partition(G.nodes().size());
  ++Loops;
  Parts += 1 + P.parts()[P.last()];
  return P.partition();
}

Expected<void> LoopConversation::placeNext(loops::Placement &P) {
  Observation.placement(P);
  Expected<unsigned> Node = select(P.ready());
  if (!Node)
    return Unexpected(Node.error());
  Expected<bool> Apart = P.placed() == 0 ? false : distribute(*Node);
  if (!Apart)
    return Unexpected(Apart.error());
  P.place(*Node, *Apart);
  return {};
}

Expected<unsigned> LoopConversation::select(ArrayRef<unsigned> Ready) {
  constexpr auto Which = static_cast<size_t>(Agent::selector);
  auto Mask = policy().tensor<int8_t>(selector::action_mask, Which);
  std::ranges::fill(Mask, 0);
  for (unsigned Node : Ready)
    Mask[Node] = 1;
  return choose(Which, Mask).map([](int64_t Node) { return static_cast<unsigned>(Node); });
}

Expected<bool> LoopConversation::distribute(unsigned Node) {
  if (!Distributing.allowsAny())
    return false;
  constexpr auto Which = static_cast<size_t>(Agent::distributor);
  auto Mask = policy().tensor<int8_t>(distributor::action_mask, Which);
  Distributing.write(Mask);
  policy().tensor<int64_t>(distributor::chosen, Which)[0] = Node;
  return choose(Which, Mask).map([](int64_t Choice) { return Choice == 1; });
}

Expected<int64_t> LoopConversation::choose(size_t Agent, std::span<const int8_t> Mask) {
  if (std::ranges::count(Mask, 1) == 1)
    return std::ranges::find(Mask, 1) - Mask.begin();
  return ask<int64_t>(Agent);
}

} // namespace mlcb
