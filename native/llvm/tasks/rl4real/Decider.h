// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The four decisions of the allocator, and who makes them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/CodeGen/LiveInterval.h"
#include "llvm/CodeGen/MachineBasicBlock.h"

#include <memory>

namespace mlcb {

/// What becomes of a live range.
enum class Fate { Colour, Split, Spill };

/// A register that a live range may have now.
struct Candidate {
  llvm::MCPhysReg Register;
  unsigned Cost; // of the target's, and of a callee-saved register not saved yet
  bool Hinted;
};

/// The blocks that a live range may be isolated in: those of a loop, or one.
using Region = llvm::SmallVector<llvm::MachineBasicBlock *, 4>;

/// All that is legal for one live range; the only mask there is.
struct Choices {
  llvm::SmallVector<Candidate, 16> Colours; // hints first, then in the order of allocation
  llvm::SmallVector<Region, 4> Regions;
  bool CanSpill = false;

  bool allow(Fate F) const { return F == Fate::Colour ? !Colours.empty() : F == Fate::Split ? !Regions.empty() : CanSpill; }
};

/// Answers the allocator's questions; this one by a heuristic. An illegal answer counts as the heuristic's.
class Decider {
public:
  virtual ~Decider();

  /// The index of the live range to allocate next, of those waiting from the lightest to the heaviest.
  virtual size_t next(llvm::ArrayRef<const llvm::LiveInterval *> Waiting) { return Waiting.size() - 1; }
  virtual Fate fate(const llvm::LiveInterval &Range, const Choices &Legal);
  virtual size_t region(const llvm::LiveInterval &Range, llvm::ArrayRef<Region> Legal);
  virtual size_t colour(const llvm::LiveInterval &Range, llvm::ArrayRef<Candidate> Legal);
};

/// The decider of a name (heuristic, and for tests first, last, illegal, random:SEED); null where there is none of that name.
std::unique_ptr<Decider> makeDecider(llvm::StringRef Name);

} // namespace mlcb
