// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The units that a loop can be distributed into: statements that depend on each other in a cycle are one node, and edges say which
// comes first.
#pragma once

#include "llvm/loops/Accesses.h"
#include "llvm/loops/RuntimeChecks.h"

#include <memory>

namespace llvm {
class AAResults;
class DominatorTree;
class Function;
class LoopInfo;
class ScalarEvolution;
} // namespace llvm

namespace mlcb::loops {

/// LLVM's analyses of a function.
struct Analyses {
  llvm::Function &F;
  llvm::LoopInfo &LI;
  llvm::DominatorTree &DT;
  llvm::ScalarEvolution &SE;
  llvm::AAResults &AA;
};

constexpr size_t MaxNodes = 64;

/// Statements that stay together: a store, or a value that is used after the loop, each with all that it is computed
/// from.
struct Node {
  Slice Needed;
  unsigned Statements; // how many
};

enum class DependenceKind : uint8_t { Flow, Anti, Output };

/// A dependence through memory between two nodes, or of one on what it did in an earlier iteration.
struct Edge {
  unsigned From, To;
  DependenceKind Kind;
  bool Checkable;                  // a check before the loop can show that it is not there
  std::optional<int64_t> Distance; // iterations, where they are known
};

/// A part for each node, numbered in the order in which they run, from 0 on without gaps.
using Partition = llvm::SmallVector<unsigned, 8>;

/// The nodes of a loop in an order in which they may run one after the other.
class DependenceGraph {
public:
  static tl::expected<DependenceGraph, Refusal> build(llvm::Loop &L, const Analyses &A);

  const LoopBody &body() const { return *Body; }
  llvm::ArrayRef<Node> nodes() const { return Nodes; }
  llvm::ArrayRef<Edge> edges() const { return Edges; }
  const RangeTable &ranges() const { return *Ranges; }
  llvm::ArrayRef<Access> accesses() const { return Table->accesses(); }

  /// The number of iterations; nothing where it is unknown.
  std::optional<uint64_t> iterations() const { return Iterations; }

  /// Whether a node must not run after another, whatever checks say.
  bool mustPrecede(unsigned First, unsigned Second) const { return Order[First].test(Second); }

  /// The checks without which a partition that respects mustPrecede() would not be right.
  std::set<RangeTable::Pair> checksFor(llvm::ArrayRef<unsigned> PartOf) const;

private:
  friend class GraphBuilder;

  /// A conflict that is there only where two ranges overlap.
  struct Avoidable {
    RangeTable::Pair Check;
    unsigned From, To;
  };

  std::unique_ptr<LoopBody> Body; // others refer to it
  std::unique_ptr<AccessTable> Table;
  std::unique_ptr<RangeTable> Ranges;
  std::optional<uint64_t> Iterations;
  std::vector<Node> Nodes;
  std::vector<Edge> Edges;
  std::vector<llvm::BitVector> Order;
  std::vector<Avoidable> Avoidables;
};

} // namespace mlcb::loops
