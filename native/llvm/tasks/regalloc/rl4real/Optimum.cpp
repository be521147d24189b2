// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Optimum.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"

#include <cmath>
#include <map>

using namespace llvm;

namespace mlcb::rl4real {

namespace {

constexpr size_t MostRanges = 64;
constexpr unsigned MostSteps = 200'000;
constexpr size_t Memory = SIZE_MAX; // in place of a register

/// A live range, and what its choices cost.
struct Node {
  const LiveInterval *Range;
  double InMemory;                 // cost of a spill; infinite where there is none
  SmallVector<size_t, 16> Colours; // the registers that it may have
  SmallVector<size_t, 8> Neighbours;
  SmallVector<std::pair<size_t, double>, 4> Copies; // from and to other nodes, and what each costs if both are in different registers
  DenseMap<size_t, double> Hinted;                  // registers that spare a copy from or to them, and its cost
  double HintedCost = 0;                            // of all copies from and to registers
};

/// The live ranges and registers of a function.
struct Problem {
  SmallVector<MCRegister, 64> Registers;
  std::vector<SmallVector<size_t, 4>> Aliases; // of a register, itself among them
  SmallVector<size_t, 64> Families;            // of the registers: those within the same largest one
  SmallVector<double, 32> Saves;               // cost of the first use of a family
  SmallVector<size_t, 32> Kinds;               // of the families: those of a kind are alike for every node
  SmallVector<Node, 0> Nodes;                  // the costliest in memory first
};

/// Reads the problem of a function, before anything is allocated.
class Reader {
public:
  Reader(const Analyses &A, FactsOfFunction &Facts) : A(A), Facts(Facts), Target(*A.MRI.getTargetRegisterInfo()) {}

  std::optional<Problem> read() {
    readNodes();
    if (P.Nodes.size() > MostRanges || any_of(P.Nodes, [](const Node &N) { return N.Range->hasSubRanges(); }))
      return std::nullopt;
    for (Node &N : P.Nodes)
      readColours(N);
    readNeighbours();
    readCopies();
    return readFamilies() ? std::optional(std::move(P)) : std::nullopt;
  }

private:
  void readNodes() {
    for (unsigned I = 0, E = A.MRI.getNumVirtRegs(); I != E; ++I)
      if (const Register R = Register::index2VirtReg(I); !A.MRI.reg_nodbg_empty(R) && !A.VRM.hasPhys(R)) {
        const LiveInterval &Range = A.LIS.getInterval(R);
        Node &N = P.Nodes.emplace_back();
        N.Range = &Range;
        N.InMemory = Range.isSpillable() ? Facts.of(Range).SpillCost : HUGE_VAL;
      }
    const auto Key = [](const Node &N) { return std::pair(-N.InMemory, N.Range->reg().virtRegIndex()); };
    sort(P.Nodes, [&](const Node &One, const Node &Other) { return Key(One) < Key(Other); });
    for (auto [Index, N] : enumerate(P.Nodes))
      Places[N.Range->reg()] = Index;
  }

  void readColours(Node &N) {
    for (const MCPhysReg R : A.order(N.Range->reg()))
      if (A.Matrix.checkInterference(*N.Range, R) == LiveRegMatrix::IK_Free)
        N.Colours.push_back(placeOf(R));
  }

  size_t placeOf(MCRegister R) {
    const auto [Known, IsNew] = Numbers.try_emplace(R, P.Registers.size());
    if (IsNew)
      P.Registers.push_back(R);
    return Known->second;
  }

  void readNeighbours() {
    for (auto [I, One] : enumerate(P.Nodes))
      for (auto [J, Other] : enumerate(P.Nodes))
        if (I != J && !One.Range->empty() && One.Range->overlaps(*Other.Range)) // LLVM asks only whether the other one is empty
          One.Neighbours.push_back(J);
  }

  void readCopies() {
    for (const MachineBasicBlock &Block : A.MF)
      for (const MachineInstr &MI : Block)
        if (MI.isFullCopy()) {
          const double Cost = A.frequency(Block) * measure::CopyWeight;
          readCopy(MI.getOperand(0).getReg(), MI.getOperand(1).getReg(), Cost);
          readCopy(MI.getOperand(1).getReg(), MI.getOperand(0).getReg(), Cost);
        }
  }

  void readCopy(Register Own, Register Other, double Cost) {
    if (!Own.isVirtual() || !Places.contains(Own))
      return;
    Node &N = P.Nodes[Places.lookup(Own)];
    if (Other.isVirtual()) {
      if (Places.contains(Other))
        N.Copies.push_back({Places.lookup(Other), Cost});
      return;
    }
    N.HintedCost += Cost;
    if (const auto Known = Numbers.find(Other.asMCReg()); Known != Numbers.end())
      N.Hinted[Known->second] += Cost;
  }

  /// Whether the largest registers are apart, as they are where a target has no tuples of registers.
  bool readFamilies() {
    SmallVector<MCRegister, 32> Largest;
    for (const MCRegister R : P.Registers) {
      const MCRegister Whole = largestAround(R);
      const auto *Known = find(Largest, Whole);
      P.Families.push_back(Known - Largest.begin());
      if (Known == Largest.end())
        Largest.push_back(Whole);
      auto &Aliases = P.Aliases.emplace_back();
      copy_if(seq(P.Registers.size()), std::back_inserter(Aliases), [&](size_t Other) { return Target.regsOverlap(R, P.Registers[Other]); });
    }
    for (auto [Family, Whole] : enumerate(Largest))
      readFamily(Family, Whole);
    return all_of(Largest,
                  [&](MCRegister One) { return none_of(Largest, [&](MCRegister Other) { return One != Other && Target.regsOverlap(One, Other); }); });
  }

  MCRegister largestAround(MCRegister R) const {
    const auto Units = [&](MCRegister Of) { return range_size(Target.regunits(Of)); };
    MCRegister Largest = R;
    for (const MCPhysReg Super : Target.superregs(R))
      if (Units(Super) >= Units(Largest))
        Largest = Super;
    return Largest;
  }

  /// Families are of a kind if all nodes say the same of them.
  void readFamily(size_t Family, MCRegister Whole) {
    double Saves = 0;
    Signature Said;
    for (auto [Index, N] : enumerate(P.Nodes))
      for (const size_t R : N.Colours)
        if (P.Families[R] == Family) {
          Said.emplace_back(Index, Target.getSubRegIndex(Whole, P.Registers[R]), N.Hinted.lookup(R));
          if (A.Classes.getLastCalleeSavedAlias(P.Registers[R]))
            Saves = measure::StoreWeight + measure::LoadWeight;
        }
    Said.emplace_back(P.Nodes.size(), 0, Saves);
    P.Saves.push_back(Saves);
    P.Kinds.push_back(Kinds.try_emplace(Said, Kinds.size()).first->second);
  }

  using Signature = std::vector<std::tuple<size_t, unsigned, double>>; // node, part of the largest register, cost of a copy that it spares

  const Analyses &A;
  FactsOfFunction &Facts;
  const TargetRegisterInfo &Target;
  Problem P;
  DenseMap<Register, size_t> Places;
  DenseMap<MCRegister, size_t> Numbers;
  std::map<Signature, size_t> Kinds;
};

/// Goes through all assignments, one node after the other, but for those that cannot be better than the best one so far.
class Search {
public:
  explicit Search(const Problem &P)
      : P(P), Chosen(P.Nodes.size(), Memory), Taken(P.Nodes.size(), SmallVector<unsigned, 64>(P.Registers.size())), Uses(P.Saves.size()) {}

  /// The register of each node, none in memory; no assignment at all where there is none, or too many.
  std::optional<SmallVector<size_t>> best() {
    descend(0, 0);
    if (Steps > MostSteps || std::isinf(Least))
      return std::nullopt;
    return Best;
  }

private:
  void descend(size_t At, double Cost) {
    if (++Steps > MostSteps || Cost + leastOfRest(At) >= Least)
      return;
    if (At == P.Nodes.size()) {
      Least = Cost;
      Best = Chosen;
      return;
    }
    SmallVector<size_t, 16> Fresh; // families that nobody used before, one of each kind
    for (const size_t R : P.Nodes[At].Colours) {
      const size_t Family = P.Families[R];
      const bool IsFirst = !Uses[Family];
      if (Taken[At][R] || (IsFirst && any_of(Fresh, [&](size_t Other) { return Other != Family && P.Kinds[Other] == P.Kinds[Family]; })))
        continue;
      if (IsFirst)
        Fresh.push_back(Family);
      choose(At, R);
      descend(At + 1, Cost + IsFirst * P.Saves[Family] + copies(At, R));
      undo(At, R);
    }
    if (P.Nodes[At].InMemory < HUGE_VAL)
      descend(At + 1, Cost + P.Nodes[At].InMemory);
  }

  /// Of those that have no free register left.
  double leastOfRest(size_t From) const {
    double Sum = 0;
    for (size_t At = From; At < P.Nodes.size(); ++At) {
      const bool IsFree = any_of(P.Nodes[At].Colours, [&](size_t R) { return !Taken[At][R]; });
      Sum += IsFree ? std::min(P.Nodes[At].InMemory, 0.0) : P.Nodes[At].InMemory;
    }
    return Sum;
  }

  /// Those to nodes that have their registers, and to registers.
  double copies(size_t At, size_t R) const {
    const Node &N = P.Nodes[At];
    double Sum = N.HintedCost - N.Hinted.lookup(R);
    for (const auto &[Other, Cost] : N.Copies)
      Sum += Cost * (Other < At && Chosen[Other] != Memory && Chosen[Other] != R);
    return Sum;
  }

  void choose(size_t At, size_t R) {
    Chosen[At] = R;
    ++Uses[P.Families[R]];
    mark(At, R, 1);
  }

  void undo(size_t At, size_t R) {
    Chosen[At] = Memory;
    --Uses[P.Families[R]];
    mark(At, R, -1);
  }

  void mark(size_t At, size_t R, int By) {
    for (const size_t Other : P.Nodes[At].Neighbours)
      for (const size_t Alias : P.Aliases[R])
        Taken[Other][Alias] += By;
  }

  const Problem &P;
  SmallVector<size_t> Chosen, Best;
  std::vector<SmallVector<unsigned, 64>> Taken; // by the neighbours of a node: how often each register, or one that overlaps it
  SmallVector<unsigned, 32> Uses;               // of each family
  double Least = HUGE_VAL;
  unsigned Steps = 0;
};

} // namespace

std::unique_ptr<Optimum> Optimum::find(const Analyses &A, FactsOfFunction &Facts) {
  const std::optional<Problem> P = Reader(A, Facts).read();
  const auto Best = P ? Search(*P).best() : std::nullopt;
  if (!Best)
    return nullptr;
  Plan Found;
  for (const auto &[N, R] : zip(P->Nodes, *Best))
    Found[N.Range->reg()] = R == Memory ? MCRegister() : P->Registers[R];
  return std::unique_ptr<Optimum>(new Optimum(std::move(Found)));
}

size_t Optimum::next(ArrayRef<const LiveInterval *> Waiting) {
  const auto Ordered = [&](const LiveInterval *Range) { return Planned.lookup(Range->reg()).isValid(); };
  const auto *Found = find_if(Waiting, Ordered);
  return Found == Waiting.end() ? Decider::next(Waiting) : Found - Waiting.begin();
}

Fate Optimum::fate(const LiveInterval &Range, const Choices &Legal) {
  const auto Known = Planned.find(Range.reg());
  if (Known != Planned.end() && Legal.allow(Known->second ? Fate::Colour : Fate::Spill))
    return Known->second ? Fate::Colour : Fate::Spill;
  return Decider::fate(Range, Legal);
}

size_t Optimum::colour(const LiveInterval &Range, ArrayRef<Candidate> Legal) {
  const MCRegister Wanted = Planned.lookup(Range.reg());
  const auto *Found = find_if(Legal, [&](const Candidate &Each) { return Wanted && Each.Register == Wanted; });
  return Found == Legal.end() ? Decider::colour(Range, Legal) : Found - Legal.begin();
}

} // namespace mlcb::rl4real
