// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The four agents of a policy.
#pragma once

#include "llvm/tasks/regalloc/Conversation.h"
#include "llvm/tasks/regalloc/rl4real/Decider.h"
#include "llvm/tasks/regalloc/rl4real/InterferenceGraph.h"
#include "llvm/tasks/regalloc/rl4real/LiveRangeFacts.h"
#include "llvm/tasks/regalloc/rl4real/RegisterUse.h"

namespace mlcb::rl4real {

/// Asks the agents of a policy where there is more than one choice. After a failure the heuristic decides.
class Agents final : public Decider {
public:
  Agents(const Analyses &A, FactsOfFunction &Facts, RegallocConversation &Talk);
  ~Agents() override;

  size_t next(llvm::ArrayRef<const llvm::LiveInterval *> Waiting) override;
  Fate fate(const llvm::LiveInterval &Range, const Choices &Legal) override;
  size_t region(const llvm::LiveInterval &Range, llvm::ArrayRef<Region> Legal) override;
  size_t colour(const llvm::LiveInterval &Range, llvm::ArrayRef<Candidate> Legal) override;
  void changed(llvm::Register R) override { Changed.push_back(R); }

private:
  template <class Feature> void writeRange(size_t Column, const llvm::LiveInterval &Range);
  template <class Feature> void writeProgress();
  template <class Feature, class LegalT> size_t choose(size_t Columns, size_t Own, LegalT IsLegal);
  void takeInChanges();
  llvm::SmallDenseMap<llvm::Register, unsigned> wanting(const llvm::LiveInterval &Range) const;

  const Analyses &A;
  FactsOfFunction &Facts;
  RegallocConversation &Talk;
  InterferenceGraph Graph;
  RegisterUse Use;
  llvm::SmallVector<llvm::Register, 8> Changed; // since the last question for the next live range
  size_t AtStart = 0, Waits = 0;
};

} // namespace mlcb::rl4real
