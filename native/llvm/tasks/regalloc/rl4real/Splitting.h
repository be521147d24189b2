// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Live ranges split around loops, blocks, and their uses within a block, without an edge of the control flow changed.
#pragma once

#include "llvm/tasks/regalloc/rl4real/AccessCosts.h"
#include "llvm/tasks/regalloc/rl4real/CalleeSaves.h"
#include "llvm/tasks/regalloc/rl4real/Decider.h"

#include "llvm/ADT/DenseMap.h"

namespace mlcb::rl4real {

/// What it costs others to give a register to a live range, or a part of one, that it is worth so much to; nothing where that would be too much.
using EvictionCost = llvm::function_ref<std::optional<double>(const llvm::LiveInterval &Range, llvm::MCPhysReg Register, double Worth)>;

class Splitting {
public:
  explicit Splitting(const Analyses &A) : A(A) {}

  /// The regions that a live range may be isolated in, those that bring most first. Free are the registers that are free for the whole of it.
  llvm::SmallVector<Region, 4> regions(const llvm::LiveInterval &Range, const CalleeSaves &Saves, llvm::ArrayRef<Candidate> Free, EvictionCost Evict);

  /// Replaces the register of a live range by one within the region and one outside of it, and appends those.
  void split(const llvm::LiveInterval &Range, const Region &Within, llvm::SmallVectorImpl<llvm::Register> &New);

  /// Regions refused because a copy on one of their edges would not be safe, and live ranges because they cannot be rewritten safely: those with
  /// subranges or inline assembly.
  unsigned refused() const { return Refused; }

private:
  struct Copy {
    llvm::MachineBasicBlock *Block;
    llvm::MachineBasicBlock::iterator Before;
    bool Inwards;
  };
  using Plan = llvm::SmallVector<Copy, 8>;
  using Parts = llvm::SmallVector<Region, 4>;
  using Exits = llvm::SmallDenseMap<const llvm::MachineBasicBlock *, bool, 8>; // whether the region alone leads to a block outside of it

  bool isSafe(const llvm::LiveInterval &Range) const;
  const Region &regionOf(const llvm::MachineLoop &Loop);
  Region withoutCalls(const llvm::LiveInterval &Range, llvm::ArrayRef<llvm::MachineBasicBlock *> Blocks) const;
  Parts partsOf(llvm::MachineBasicBlock &Block, llvm::ArrayRef<llvm::SlotIndex> Uses) const;
  Parts partsThatFit(llvm::MachineBasicBlock &Block, llvm::ArrayRef<llvm::SlotIndex> Uses, const llvm::LiveInterval &Range) const;
  bool isFar(llvm::SlotIndex One, llvm::SlotIndex Next, const llvm::MachineBasicBlock &Block) const;
  bool holds(const Region &Within, const llvm::MachineInstr &MI) const;
  std::optional<Plan> plan(const llvm::LiveInterval &Range, const Region &Within) const;
  std::optional<Plan> planPart(const llvm::LiveInterval &Range, const Region &Within) const;
  void rate(Region &Within, const Accesses &Uses, const Plan &Copies, const CalleeSaves &Saves, llvm::ArrayRef<Candidate> Free) const;
  void findRegisters(Region &Within, const llvm::LiveInterval &Range, const Plan &Copies, const CalleeSaves &Saves, EvictionCost Evict) const;
  bool planEntry(const llvm::LiveInterval &Range, llvm::MachineBasicBlock &Block, const Region &Within, Plan &Copies) const;
  bool planExit(const llvm::LiveInterval &Range, llvm::MachineBasicBlock &Block, const Region &Within, Exits &Known, Plan &Copies) const;
  bool planCopy(const llvm::LiveInterval &Range, llvm::MachineBasicBlock &Block, bool AtEnd, bool Inwards, Plan &Copies) const;
  void addCopy(const Copy &Where, llvm::Register Inner, llvm::Register Outer);
  void addRange(llvm::Register R, llvm::Register Original, llvm::SmallVectorImpl<llvm::Register> &New);

  const Analyses &A;
  llvm::DenseMap<const llvm::MachineLoop *, Region> Loops; // each is looked at once, however large
  unsigned Refused = 0;
};

} // namespace mlcb::rl4real
