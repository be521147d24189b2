// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The registers of one function.
#pragma once

#include "llvm/tasks/regalloc/rl4real/CalleeSaves.h"
#include "llvm/tasks/regalloc/rl4real/CopyCosts.h"
#include "llvm/tasks/regalloc/rl4real/LiveRangeFacts.h"
#include "llvm/tasks/regalloc/rl4real/Splitting.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/CodeGen/LiveRangeEdit.h"
#include "llvm/CodeGen/Spiller.h"

namespace mlcb::rl4real {

/// What an allocation did.
struct Counts {
  unsigned Ranges = 0, Evictions = 0, Splits = 0, Spills = 0, Recoloured = 0, Illegal = 0, Refused = 0;
  bool Failed = false; // nothing is allocated: another allocator can go on from the code as it is
};

/// How often it may split a live range and what that was split into, and all of a function.
struct SplitLimits {
  unsigned OfRange, OfFunction;
};

/// Allocates all live ranges as a decider says; what it may say, and what is done where it says something else, is settled here.
class Allocation final : private llvm::LiveRangeEdit::Delegate {
public:
  Allocation(const Analyses &A, FactsOfFunction &Facts, Decider &Policy, SplitLimits MaxSplits);

  Counts run();

private:
  void allocate(const llvm::LiveInterval &Range);
  Choices choices(const llvm::LiveInterval &Range);
  Fate legalFate(const llvm::LiveInterval &Range, const Choices &Legal);
  size_t legal(size_t Answer, size_t Size, llvm::function_ref<size_t()> Heuristic);
  void colour(const llvm::LiveInterval &Range, llvm::ArrayRef<Candidate> Legal);
  void split(const llvm::LiveInterval &Range, llvm::ArrayRef<Region> Legal);
  void spill(const llvm::LiveInterval &Range);
  bool mayPostpone(const llvm::LiveInterval &Range, const Choices &Legal) const;
  void postpone(const llvm::LiveInterval &Range);
  bool resume();
  void share(llvm::ArrayRef<const llvm::LiveInterval *> Ranges);
  double saves(const llvm::LiveInterval &Range, llvm::MCPhysReg Register, CalleeSaves::Price Saved) const;
  std::optional<double> evictionCost(const llvm::LiveInterval &Range, llvm::MCPhysReg Register, double Worth);
  void assign(const llvm::LiveInterval &Range, llvm::MCRegister Register);
  bool evictFor(const llvm::LiveInterval &Range);
  void recolour(const llvm::LiveInterval &Range);
  double elsewhere(const llvm::LiveInterval &Range, llvm::MCPhysReg Register);
  double copies(const llvm::LiveInterval &Range, const CopyCosts &Own, llvm::MCPhysReg Register) const;
  void enqueue(llvm::Register R);
  void enqueueNew();
  const llvm::LiveInterval &next();
  void leave(llvm::Register R);
  void requeue(const llvm::LiveInterval &Range);
  void respill(llvm::Register Original);
  void dropEmptied();
  void finish();
  void handOver();

  bool LRE_CanEraseVirtReg(llvm::Register R) override;
  void LRE_WillShrinkVirtReg(llvm::Register R) override;
  void LRE_DidCloneVirtReg(llvm::Register Clone, llvm::Register Old) override;

  const Analyses &A;
  FactsOfFunction &Facts;
  Decider &Policy;
  Decider Heuristic;
  SplitLimits MaxSplits;
  Splitting Splits;
  std::unique_ptr<llvm::Spiller> Spill;
  llvm::SmallVector<const llvm::LiveInterval *, 0> Waiting;                                // from the least dense to the densest (LiveRangeFacts)
  llvm::DenseSet<llvm::Register> Enqueued;                                                 // those waiting: one twice would outlive its removal
  llvm::SmallVector<llvm::Register, 8> New, Shrunk;                                        // to be enqueued; only what is new is part of an edit
  llvm::DenseMap<llvm::MCRegUnit, llvm::SmallDenseMap<llvm::Register, double, 4>> Wanting; // of those waiting, copies from or to a register
  llvm::DenseSet<llvm::Register> Given;                                                    // those allocated before, as X86's tiles are
  llvm::SmallPtrSet<llvm::MachineInstr *, 32> DeadRemats;
  llvm::SmallVector<const llvm::LiveInterval *, 0> Postponed;                // to be spilled unless they share a callee-saved register
  llvm::DenseSet<llvm::Register> Reconsidered;                               // those that were postponed
  llvm::DenseMap<llvm::Register, std::pair<llvm::MCPhysReg, double>> Shares; // the register that one shares, and what the others bring
  llvm::DenseSet<llvm::Register> Clones;                                     // of live ranges that fell apart
  llvm::DenseMap<llvm::Register, unsigned> Evictions;                        // how often each was evicted
  bool HasEmptied = false;                                                   // of those waiting some may be gone
  CalleeSaves Saves;
  llvm::ArrayRef<uint8_t> Costs;
  Counts Done;
};

} // namespace mlcb::rl4real
