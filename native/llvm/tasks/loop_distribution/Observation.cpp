// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/loop_distribution/Observation.h"

#include "llvm/observe/Embedding.h"
#include "spec/Tasks.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instruction.h"

using namespace llvm;

namespace mlcb {

namespace {

using Feature = loop_distribution::selector; // what both agents see has the same index in both
static_assert(static_cast<size_t>(Feature::progress) == static_cast<size_t>(loop_distribution::distributor::progress));

constexpr size_t NumShared = static_cast<size_t>(Feature::progress) + 1;

/// The columns of `memory`, as its meaning lists them.
enum Column : size_t { Loads, Stores, Bytes, Stays, MovesBySize, MovesOtherwise, Unknown, Guarded, NumColumns };

/// The matrices of `dependences`, likewise.
enum Matrix : size_t { Flow, Anti, Output, Avoidable, Nearness, Precedes, SharedLoads, SharedInstructions };

Column movement(const loops::Access &A) {
  if (!A.At)
    return Unknown;
  if (A.At->Step == 0)
    return Stays;
  return std::abs(A.At->Step) == A.Size ? MovesBySize : MovesOtherwise;
}

Matrix matrixOf(loops::DependenceKind Kind) {
  switch (Kind) {
  case loops::DependenceKind::Flow: return Flow;
  case loops::DependenceKind::Anti: return Anti;
  case loops::DependenceKind::Output: return Output;
  }
  llvm_unreachable("a kind of dependence");
}

} // namespace

void LoopObservation::graph(const loops::DependenceGraph &G) {
  resize(static_cast<int64_t>(G.nodes().size()));
  nodes(G);
  memory(G);
  dependences(G);
  loop(G);
}

/// All that varies does so with the number of nodes.
void LoopObservation::resize(int64_t Nodes) {
  const auto &Agents = Policy.spec().Task.Agents;
  for (size_t Agent = 0; Agent < Agents.size(); ++Agent)
    for (auto [Index, Input] : enumerate(Agents[Agent].Inputs)) {
      std::vector<int64_t> Shape;
      for (const Dim &D : Input.Shape)
        Shape.push_back(D.varies() ? Nodes : D.Size);
      Policy.resize(Index, Shape, Agent);
    }
}

void LoopObservation::nodes(const loops::DependenceGraph &G) {
  auto Embedding = Policy.tensor<float>(Feature::embedding);
  auto Opcodes = Policy.tensor<int64_t>(Feature::opcodes);
  const size_t Dimension = Embedding.size() / G.nodes().size(), NumOpcodes = Opcodes.size() / G.nodes().size();
  const bool Embeds = Seeds && (Policy.reads(Feature::embedding, 0) || Policy.reads(Feature::embedding, 1));
  std::ranges::fill(Opcodes, 0);
  for (auto [N, Each] : enumerate(G.nodes())) {
    EntityCounts Counts;
    for (unsigned Index : Each.Needed.set_bits()) {
      Counts.addSymbolic(G.body()[Index]);
      ++Opcodes[N * NumOpcodes + G.body()[Index].getOpcode() - 1];
    }
    if (Embeds)
      Counts.embed(*Seeds, Embedding.subspan(N * Dimension, Dimension));
    Policy.tensor<int64_t>(Feature::statements)[N] = Each.Statements;
  }
}

void LoopObservation::memory(const loops::DependenceGraph &G) {
  auto Rows = Policy.tensor<float>(Feature::memory);
  std::ranges::fill(Rows, 0);
  for (auto [N, Each] : enumerate(G.nodes()))
    for (const loops::Access &A : G.accesses()) {
      if (!Each.Needed.test(A.Index))
        continue;
      auto Row = Rows.subspan(N * NumColumns, NumColumns);
      ++Row[A.Writes ? Stores : Loads];
      Row[Bytes] += static_cast<float>(A.Size);
      ++Row[movement(A)];
      Row[Guarded] += !G.body().runsInEveryIteration(A.Index);
    }
}

void LoopObservation::dependences(const loops::DependenceGraph &G) {
  const size_t Size = G.nodes().size();
  auto All = Policy.tensor<float>(Feature::dependences);
  std::ranges::fill(All, 0);
  auto At = [&](Matrix Which, size_t From, size_t To) -> float & { return All[(Which * Size + From) * Size + To]; };
  for (const loops::Edge &E : G.edges()) {
    ++At(matrixOf(E.Kind), E.From, E.To);
    At(Avoidable, E.From, E.To) += E.Checkable;
    if (E.Distance)
      At(Nearness, E.From, E.To) =
          std::max(At(Nearness, E.From, E.To), 1.0f / (1.0f + static_cast<float>(*E.Distance)));
  }
  for (size_t From = 0; From < Size; ++From)
    for (size_t To = 0; To < Size; ++To)
      At(Precedes, From, To) = From != To && G.mustPrecede(From, To);
  shared(G, All.subspan(SharedLoads * Size * Size, Size * Size),
         All.subspan(SharedInstructions * Size * Size, Size * Size));
}

/// What two parts would both do, apart from counting iterations.
void LoopObservation::shared(const loops::DependenceGraph &G, std::span<float> Loads, std::span<float> Instructions) {
  const size_t Size = G.nodes().size();
  for (size_t A = 0; A < Size; ++A)
    for (size_t B = 0; B < Size; ++B) {
      if (A == B)
        continue;
      loops::Slice Both = G.nodes()[A].Needed;
      Both &= G.nodes()[B].Needed;
      Both.reset(G.body().control());
      Instructions[A * Size + B] = static_cast<float>(Both.count());
      Loads[A * Size + B] =
          static_cast<float>(count_if(G.accesses(), [&](const loops::Access &X) { return Both.test(X.Index); }));
    }
}

void LoopObservation::loop(const loops::DependenceGraph &G) {
  const float Iterations = G.iterations() ? static_cast<float>(*G.iterations()) : -1;
  const float Told[] = {Iterations, static_cast<float>(G.body().loop().getLoopDepth()),
                        static_cast<float>(G.body().size()), static_cast<float>(G.nodes().size())};
  std::ranges::copy(Told, Policy.tensor<float>(Feature::loop).begin());
}

void LoopObservation::placement(const loops::Placement &P) {
  std::ranges::copy(P.parts(), Policy.tensor<int64_t>(Feature::part).begin());
  Policy.tensor<int64_t>(Feature::previous)[0] = P.last();
  Policy.tensor<float>(Feature::progress)[0] = static_cast<float>(P.placed()) / static_cast<float>(P.parts().size());
  copyToOthers();
}

/// What the first agent sees, all see.
void LoopObservation::copyToOthers() {
  for (size_t Agent = 1; Agent < Policy.spec().Task.Agents.size(); ++Agent)
    for (size_t Input = 0; Input < NumShared; ++Input)
      std::ranges::copy(Policy.bytes(Input, 0), Policy.bytes(Input, Agent).begin());
}

} // namespace mlcb
