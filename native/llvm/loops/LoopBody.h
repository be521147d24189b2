// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The needs of each instruction of a loop: its operands, and the branches that decide whether it runs.
#pragma once

#include "llvm/loops/Refusal.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <tl/expected.hpp>

namespace llvm {
class BasicBlock;
class Instruction;
class Loop;
class LoopInfo;
class Value;
} // namespace llvm

namespace mlcb::loops {

/// Instructions of a loop by their index.
using Slice = llvm::BitVector;

/// The instructions of an innermost loop, in an order in which an iteration runs them.
class LoopBody {
public:
  /// Refuses what cannot be run in parts, each of them running some of the instructions.
  static tl::expected<LoopBody, Refusal> read(llvm::Loop &L, const llvm::LoopInfo &LI);

  llvm::Loop &loop() const { return *L; }
  unsigned size() const { return Instructions.size(); }
  llvm::Instruction &operator[](unsigned Index) const { return *Instructions[Index]; }
  std::optional<unsigned> indexOf(const llvm::Value *V) const;

  /// All that must run for the instruction to run as it does, with what decides how often the loop runs.
  Slice sliceOf(unsigned Index) const;

  /// The control of the number of iterations: part of every slice.
  const Slice &control() const { return Control; }

  bool runsInEveryIteration(unsigned Index) const;

  /// Branches inside of the loop, with the block in which all their ways meet again. One that is not in a slice can go
  /// there at once.
  struct Branch {
    unsigned Index;
    llvm::BasicBlock *Join;
  };
  llvm::ArrayRef<Branch> branches() const { return Branches; }

  /// Whether the loop says of pointers that they do not alias within one iteration, which does not hold of its parts.
  bool declaresAliasScopes() const { return DeclaresAliasScopes; }

private:
  explicit LoopBody(llvm::Loop &L) : L(&L) {}

  void number(llvm::ArrayRef<llvm::BasicBlock *> Order);
  void findBranches(llvm::ArrayRef<llvm::BasicBlock *> Order);
  void findNeeds();
  void grow(Slice &S, unsigned Index) const;

  llvm::Loop *L;
  llvm::SmallVector<llvm::Instruction *, 0> Instructions;
  llvm::DenseMap<const llvm::Value *, unsigned> Indices;
  llvm::DenseMap<const llvm::BasicBlock *, llvm::SmallVector<unsigned, 2>> Deciders; // branches that decide whether a block runs
  llvm::SmallVector<llvm::SmallVector<unsigned, 4>, 0> Needs;                        // by instruction
  llvm::SmallVector<Branch, 4> Branches;
  Slice Control;
  bool DeclaresAliasScopes = false;
};

/// Whether the instruction is there for the optimizer alone, and no slice needs it.
bool isHint(const llvm::Instruction &I);

} // namespace mlcb::loops
