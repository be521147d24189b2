// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/DependenceGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace mlcb::loops {

namespace {

using Relation = std::vector<BitVector>;

/// Warshall's closure.
void closeTransitively(Relation &R) {
  for (unsigned Middle = 0; Middle < R.size(); ++Middle)
    for (BitVector &Row : R)
      if (Row.test(Middle))
        Row |= R[Middle];
}

bool isUsedAfter(const Instruction &I, const Loop &L) {
  return any_of(I.users(), [&](const User *U) { return !L.contains(cast<Instruction>(U)); });
}

/// Two of them may come to different results from the same operands.
bool isNondeterministic(const Instruction &I) { return isa<FreezeInst>(I) && !isGuaranteedNotToBeUndefOrPoison(I.getOperand(0)); }

constexpr size_t MaxValues = 1024; // each is compared with all others

/// A slice of each store, and of each value that is used after the loop and that no other slice computes.
tl::expected<std::vector<Node>, Refusal> findStatements(const LoopBody &Body) {
  SmallVector<unsigned> Stores, Values;
  for (unsigned Index = 0; Index < Body.size(); ++Index)
    if (isa<StoreInst>(Body[Index]))
      Stores.push_back(Index);
    else if (isUsedAfter(Body[Index], Body.loop()) && !Body.control().test(Index))
      Values.push_back(Index);
  if (Stores.size() > MaxNodes || Values.size() > MaxValues)
    return tl::unexpected(Refusal::TooManyStatements);
  std::vector<Node> Statements;
  for (const unsigned Index : Stores)
    Statements.push_back({Body.sliceOf(Index), 1});
  for (const unsigned Index : Values)
    if (none_of(Statements, [&](const Node &N) { return N.Needed.test(Index); }))
      Statements.push_back({Body.sliceOf(Index), 1});
  std::vector<Node> Whole;
  copy_if(Statements, std::back_inserter(Whole), [&](const Node &N) {
    return none_of(Statements, [&](const Node &Other) { return &N != &Other && !N.Needed.test(Other.Needed); }); // a subset of it
  });
  if (Whole.size() > MaxNodes)
    return tl::unexpected(Refusal::TooManyStatements);
  return Whole;
}

} // namespace

/// Builds the graph of one loop, first of statements and then of nodes.
class GraphBuilder {
public:
  explicit GraphBuilder(DependenceGraph &G) : G(G), Table(*G.Table) {}

  void findChecks(bool Allowed);
  Relation order(ArrayRef<Node> Of) const;
  void merge(const std::vector<Node> &Statements);
  void connect();

private:
  std::optional<RangeTable::Pair> checkOf(const Conflict &C) const { return MayCheck ? G.Ranges->pairOf(C) : std::nullopt; }
  template <class Visit> void forEachDependence(const Conflict &C, ArrayRef<Node> Of, Visit &&Visitor) const;
  void keepTogether(ArrayRef<Node> Of, Relation &R) const;
  void addEdge(const Conflict &C, unsigned First, unsigned Second, unsigned From, unsigned To);

  DependenceGraph &G;
  const AccessTable &Table;
  bool MayCheck = false;
};

/// Either all that can be checked may be, or nothing: so every partition of the graph can be carried out.
void GraphBuilder::findChecks(bool Allowed) {
  std::set<RangeTable::Pair> All;
  for (const Conflict &C : Table.conflicts())
    if (auto Check = G.Ranges->pairOf(C))
      All.insert(*Check);
  MayCheck = Allowed && All.size() <= MaxChecks;
}

/// Visits all pairs of nodes, and each with itself, of which one accesses what comes first, as Visitor(access, access, from, to).
template <class Visit> void GraphBuilder::forEachDependence(const Conflict &C, ArrayRef<Node> Of, Visit &&Visitor) const {
  const unsigned First = Table.accesses()[C.First].Index, Second = Table.accesses()[C.Second].Index;
  for (unsigned A = 0; A < Of.size(); ++A)
    for (unsigned B = 0; B < Of.size(); ++B) {
      if (!Of[A].Needed.test(First) || !Of[B].Needed.test(Second))
        continue;
      if (C.Forward)
        Visitor(C.First, C.Second, A, B);
      if (C.Backward)
        Visitor(C.Second, C.First, B, A);
    }
}

/// The instructions that must not be computed twice.
void GraphBuilder::keepTogether(ArrayRef<Node> Of, Relation &R) const {
  for (unsigned Index = 0; Index < G.Body->size(); ++Index)
    if (isNondeterministic((*G.Body)[Index]))
      for (unsigned A = 0; A < Of.size(); ++A)
        for (unsigned B = 0; B < Of.size(); ++B)
          if (Of[A].Needed.test(Index) && Of[B].Needed.test(Index))
            R[A].set(B);
}

/// Which of them must not run after which.
Relation GraphBuilder::order(ArrayRef<Node> Of) const {
  Relation R(Of.size(), BitVector(Of.size()));
  keepTogether(Of, R);
  for (const Conflict &C : Table.conflicts())
    if (!checkOf(C))
      forEachDependence(C, Of, [&](unsigned, unsigned, unsigned From, unsigned To) {
        if (From != To)
          R[From].set(To);
      });
  closeTransitively(R);
  return R;
}

/// Cycles become nodes, each as soon as all that must precede it is placed, and otherwise in the order of the program.
void GraphBuilder::merge(const std::vector<Node> &Statements) {
  const Relation R = order(Statements);
  BitVector Placed(Statements.size());
  auto InCycle = [&](unsigned A, unsigned B) { return A == B || (R[A].test(B) && R[B].test(A)); };
  auto IsReady = [&](unsigned S) {
    return all_of(seq<unsigned>(Statements.size()), [&](unsigned P) { return Placed.test(P) || !R[P].test(S) || InCycle(P, S); });
  };
  while (!Placed.all()) {
    unsigned Leader = *find_if(seq<unsigned>(Statements.size()), [&](unsigned S) { return !Placed.test(S) && IsReady(S); });
    Node Merged{Slice(G.Body->size()), 0};
    for (unsigned S = 0; S < Statements.size(); ++S)
      if (InCycle(Leader, S)) {
        Merged.Needed |= Statements[S].Needed;
        Merged.Statements += Statements[S].Statements;
        Placed.set(S);
      }
    G.Nodes.push_back(std::move(Merged));
  }
}

void GraphBuilder::connect() {
  G.Order = order(G.Nodes);
  for (const Conflict &C : Table.conflicts())
    forEachDependence(C, G.Nodes, [&](unsigned First, unsigned Second, unsigned From, unsigned To) { addEdge(C, First, Second, From, To); });
}

void GraphBuilder::addEdge(const Conflict &C, unsigned First, unsigned Second, unsigned From, unsigned To) {
  const std::optional<RangeTable::Pair> Check = checkOf(C);
  if (Check)
    G.Avoidables.push_back({*Check, From, To});
  const bool Writes = Table.accesses()[First].Writes, ThenWrites = Table.accesses()[Second].Writes;
  const DependenceKind Kind = !Writes ? DependenceKind::Anti : ThenWrites ? DependenceKind::Output : DependenceKind::Flow;
  auto IsSame = [&](const Edge &E) {
    return E.From == From && E.To == To && E.Kind == Kind && E.Checkable == Check.has_value() && E.Distance == C.Distance;
  };
  if (none_of(G.Edges, IsSame))
    G.Edges.push_back({From, To, Kind, Check.has_value(), C.Distance});
}

tl::expected<DependenceGraph, Refusal> DependenceGraph::build(Loop &L, const Analyses &A) {
  tl::expected<LoopBody, Refusal> Body = LoopBody::read(L, A.LI);
  if (!Body)
    return tl::unexpected(Body.error());
  const tl::expected<std::vector<Node>, Refusal> Statements = findStatements(*Body);
  if (!Statements)
    return tl::unexpected(Statements.error());
  if (Statements->size() < 2)
    return tl::unexpected(Refusal::OneStatement);
  tl::expected<AccessTable, Refusal> Table = AccessTable::read(*Body, A.SE, A.AA);
  if (!Table)
    return tl::unexpected(Table.error());
  DependenceGraph G;
  G.Body = std::make_unique<LoopBody>(std::move(*Body));
  G.Table = std::make_unique<AccessTable>(std::move(*Table));
  G.Ranges = std::make_unique<RangeTable>(*G.Body, G.Table->accesses(), A.SE);
  if (unsigned Trips = A.SE.getSmallConstantTripCount(&L))
    G.Iterations = Trips;
  GraphBuilder Builder(G);
  Builder.findChecks(!A.F.hasOptSize());
  Builder.merge(*Statements);
  if (G.Nodes.size() < 2)
    return tl::unexpected(Refusal::OneCycle);
  Builder.connect();
  return G;
}

std::set<RangeTable::Pair> DependenceGraph::checksFor(ArrayRef<unsigned> PartOf) const {
  std::set<RangeTable::Pair> Checks;
  for (const Avoidable &A : Avoidables)
    if (PartOf[A.From] > PartOf[A.To])
      Checks.insert(A.Check);
  return Checks;
}

} // namespace mlcb::loops
