// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/CallCounts.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

#include <numeric>

namespace llvm {
template <> struct GraphTraits<mlcb::measure::CallNode *> {
  using NodeRef = mlcb::measure::CallNode *;
  static NodeRef calleeOf(const mlcb::measure::Call &C) { return C.Callee; }
  using ChildIteratorType = mapped_iterator<const mlcb::measure::Call *, decltype(&calleeOf)>;

  static NodeRef getEntryNode(NodeRef N) { return N; }
  static ChildIteratorType child_begin(NodeRef N) { return {N->Calls.begin(), calleeOf}; }
  static ChildIteratorType child_end(NodeRef N) { return {N->Calls.end(), calleeOf}; }
};
} // namespace llvm

using namespace llvm;

namespace mlcb::measure {

namespace {
/// Functions that call each other in a circle.
class Circle {
public:
  explicit Circle(ArrayRef<CallNode *> Nodes) : Nodes(Nodes) {
    for (auto [I, N] : enumerate(Nodes))
      IndexOf[N] = I;
  }

  void countRuns() const {
    static constexpr unsigned Levels = 32; // 31 : 1 is the odds of a back edge in BranchProbabilityInfo
    Runs Level = map_to_vector<4>(Nodes, [](const CallNode *N) { return N->Count; });
    double Entries = sum(Level);
    for (unsigned I = 1; I < Levels; ++I) {
      Level = callsFrom(Level);
      double Made = sum(Level);
      for (auto [N, Count] : zip_equal(Nodes, Level)) {
        Count *= Made > Entries ? Entries / Made : 1;
        N->Count += Count;
      }
    }
  }

  bool contains(const CallNode *N) const { return IndexOf.contains(N); }

private:
  using Runs = SmallVector<double, 4>;

  static double sum(const Runs &Level) { return std::accumulate(Level.begin(), Level.end(), 0.0); }

  Runs callsFrom(const Runs &Level) const {
    Runs Next(Level.size());
    for (auto [N, Count] : zip_equal(Nodes, Level))
      for (const Call &C : N->Calls)
        if (auto Callee = IndexOf.find(C.Callee); Callee != IndexOf.end())
          Next[Callee->second] += Count * C.Frequency;
    return Next;
  }

  ArrayRef<CallNode *> Nodes;
  SmallDenseMap<const CallNode *, size_t, 4> IndexOf;
};
} // namespace

void countCalls(CallNode &Outside) {
  Outside.Count = 1;
  SmallVector<std::vector<CallNode *>, 0> CalleesFirst;
  for (auto Component = scc_begin(&Outside); !Component.isAtEnd(); ++Component)
    CalleesFirst.push_back(*Component);
  for (ArrayRef<CallNode *> Nodes : reverse(CalleesFirst)) {
    Circle Together(Nodes);
    Together.countRuns();
    for (const CallNode *N : Nodes)
      for (const Call &C : N->Calls)
        if (!Together.contains(C.Callee))
          C.Callee->Count += N->Count * C.Frequency;
  }
}

} // namespace mlcb::measure
