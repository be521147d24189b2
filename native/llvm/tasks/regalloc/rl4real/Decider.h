// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The four decisions of the allocator, and who makes them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/MachineBasicBlock.h"

#include <memory>

namespace mlcb::rl4real {

/// What becomes of a live range.
enum class Fate { Colour, Split, Spill };

/// A register that a live range may have now: it is free, or those that have it wait again.
struct Candidate {
  llvm::MCPhysReg Register;
  unsigned Encoding; // LLVM's cost of it: longer instructions
  double Saves;      // cost of its save and restore, less what others bring that share it; or of all earlier saves, where it is used already
  double Evicts;     // cost of those that have it, in another register or in memory
  double Copies;     // cost of the copies that it does not spare, of the live range and of those in its way that wait for it
  bool Hinted;

  bool isFree() const { return Saves == 0 && Evicts == 0; }
  double price() const { return Saves + Evicts + Copies; }
};

/// The blocks that a live range may be isolated in; or the instructions of a block from the first to the last one.
struct Region {
  llvm::SmallVector<llvm::MachineBasicBlock *, 4> Blocks;
  llvm::SlotIndex First, Last;         // where it is a part of its block
  llvm::SmallDenseSet<int, 4> Numbers; // of the blocks, where it has them whole
  size_t Links = 0;                    // edges of the control flow that begin or end at these
  double Edges = 0;                    // cost of loads and stores on its edges; or of copies and a register outside, less a spill there
  double SpillCost = 0;                // of the part inside
  unsigned Uses = 0;                   // instructions inside that read or write the live range
  unsigned Free = 0;                   // registers that the part inside may have now: free ones, else those of others
  double Saves = 0;                    // cost of the cheapest of them, with that of others moving

  /// What it brings over a spill of the whole live range.
  double gain() const { return Free ? SpillCost - Edges - Saves : -Edges; }

  bool isPart() const { return First.isValid(); }

  /// Whether it has a whole block.
  bool has(const llvm::MachineBasicBlock &Block) const { return Numbers.contains(Block.getNumber()); }
};

/// All that is legal for one live range; the only mask there is.
struct Choices {
  llvm::SmallVector<Candidate, 16> Colours; // the free ones first; of these, hints first, then in the order of allocation
  llvm::SmallVector<Region, 4> Regions;     // those that bring most first
  bool CanSpill = false;
  double SpillCost = 0;

  bool allow(Fate F) const { return F == Fate::Colour ? !Colours.empty() : F == Fate::Split ? !Regions.empty() : CanSpill; }
};

/// Answers the allocator's questions; this one by a heuristic. An illegal answer counts as the heuristic's. Costs are those of what is executed
/// (measure::AllocationCosts).
class Decider {
public:
  virtual ~Decider();

  /// The index of the live range to allocate next, of those waiting from the least dense to the densest (LiveRangeFacts).
  virtual size_t next(llvm::ArrayRef<const llvm::LiveInterval *> Waiting) { return Waiting.size() - 1; }
  virtual Fate fate(const llvm::LiveInterval &Range, const Choices &Legal);
  virtual size_t region(const llvm::LiveInterval &Range, llvm::ArrayRef<Region> Legal);
  virtual size_t colour(const llvm::LiveInterval &Range, llvm::ArrayRef<Candidate> Legal);

  /// Told of a live range whose facts or register may be others when the next one is asked for, and of one that is new or gone by then.
  virtual void changed(llvm::Register) {}

  /// Whether it is offered splits.
  virtual bool splits() const { return true; }
};

/// The decider of a name (heuristic, and for tests first, last, illegal, random:SEED); null where there is none of that name.
std::unique_ptr<Decider> makeDecider(llvm::StringRef Name);

} // namespace mlcb::rl4real
