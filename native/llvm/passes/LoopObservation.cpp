// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/LoopObservation.h"

#include "llvm/observe/Embedding.h"
#include "spec/Tasks.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instruction.h"

using namespace llvm;

namespace mlcb {

namespace {

using Feature = loop_distribution::selector; // what both agents see has the same index in both
static_assert(static_cast<size_t>(Feature::progress) == static_cast<size_t>(loop_distribution::distributor::progress));

constexpr size_t Agents[] = {static_cast<size_t>(loop_distribution::Agent::selector),
                             static_cast<size_t>(loop_distribution::Agent::distributor)};

/// The columns of `memory`, as its meaning lists them.
enum Column : size_t { Loads, Stores, Bytes, Stays, MovesBySize, MovesOtherwise, Unknown, Guarded, NumColumns };

/// The matrices of `dependences`, likewise.
enum Matrix : size_t { Flow, Anti, Output, Avoidable, Nearness, Precedes, SharedLoads, SharedInstructions, NumMatrices };

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
  for (size_t Agent : Agents) {
    nodes(G, Agent);
    memory(G, Agent);
    dependences(G, Agent);
    const float Iterations = G.iterations() ? static_cast<float>(*G.iterations()) : -1;
    const float Told[] = {Iterations, static_cast<float>(G.body().loop().getLoopDepth()), static_cast<float>(G.body().size()),
                          static_cast<float>(G.nodes().size())};
    std::ranges::copy(Told, Policy.tensor<float>(Feature::loop, Agent).begin());
  }
}

void LoopObservation::nodes(const loops::DependenceGraph &G, size_t Agent) {
  const auto Size = static_cast<int64_t>(G.nodes().size());
  const size_t Dimension = Seeds ? Seeds->dimension() : 0;
  auto Embedding = Policy.resize<float>(Feature::embedding, std::vector{Size, static_cast<int64_t>(Dimension)}, Agent);
  const int64_t NumOpcodes = Policy.spec().Task.Agents[Agent].Inputs[static_cast<size_t>(Feature::opcodes)].Shape.back().Size;
  auto Opcodes = Policy.resize<int64_t>(Feature::opcodes, std::vector{Size, NumOpcodes}, Agent);
  auto Statements = Policy.resize<int64_t>(Feature::statements, std::vector{Size}, Agent);
  std::ranges::fill(Opcodes, 0);
  for (auto [N, Each] : enumerate(G.nodes())) {
    EntityCounts Counts;
    for (unsigned Index : Each.Needed.set_bits()) {
      const Instruction &I = G.body()[Index];
      Counts.addSymbolic(I);
      ++Opcodes[N * NumOpcodes + I.getOpcode() - 1];
    }
    if (Seeds)
      Counts.embed(*Seeds, Embedding.subspan(N * Dimension, Dimension));
    Statements[N] = Each.Statements;
  }
}

void LoopObservation::memory(const loops::DependenceGraph &G, size_t Agent) {
  const auto Size = static_cast<int64_t>(G.nodes().size());
  auto Rows = Policy.resize<float>(Feature::memory, std::vector{Size, int64_t{NumColumns}}, Agent);
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

void LoopObservation::dependences(const loops::DependenceGraph &G, size_t Agent) {
  const size_t Size = G.nodes().size();
  const auto Length = static_cast<int64_t>(Size);
  auto All = Policy.resize<float>(Feature::dependences, std::vector{int64_t{NumMatrices}, Length, Length}, Agent);
  std::ranges::fill(All, 0);
  auto At = [&](Matrix Which, size_t From, size_t To) -> float & { return All[(Which * Size + From) * Size + To]; };
  for (const loops::Edge &E : G.edges()) {
    ++At(matrixOf(E.Kind), E.From, E.To);
    At(Avoidable, E.From, E.To) += E.Checkable;
    if (E.Distance)
      At(Nearness, E.From, E.To) = std::max(At(Nearness, E.From, E.To), 1.0f / (1.0f + static_cast<float>(*E.Distance)));
  }
  for (size_t From = 0; From < Size; ++From)
    for (size_t To = 0; To < Size; ++To)
      At(Precedes, From, To) = From != To && G.mustPrecede(From, To);
  shared(G, All.subspan(SharedLoads * Size * Size, Size * Size), All.subspan(SharedInstructions * Size * Size, Size * Size));
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
      Loads[A * Size + B] = static_cast<float>(count_if(G.accesses(), [&](const loops::Access &X) { return Both.test(X.Index); }));
    }
}

void LoopObservation::placement(const loops::Placement &P) {
  for (size_t Agent : Agents) {
    std::ranges::copy(P.parts(), Policy.resize<int64_t>(Feature::part, std::vector{static_cast<int64_t>(P.parts().size())}, Agent).begin());
    Policy.tensor<int64_t>(Feature::previous, Agent)[0] = P.last();
    Policy.tensor<float>(Feature::progress, Agent)[0] = static_cast<float>(P.placed()) / static_cast<float>(P.parts().size());
  }
}

} // namespace mlcb
