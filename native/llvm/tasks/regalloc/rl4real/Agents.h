// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The four agents of a policy.
#pragma once

#include "llvm/tasks/regalloc/Conversation.h"
#include "llvm/tasks/regalloc/rl4real/Decider.h"
#include "llvm/tasks/regalloc/rl4real/InterferenceGraph.h"
#include "llvm/tasks/regalloc/rl4real/LiveRangeFacts.h"

namespace mlcb::rl4real {

/// Asks the agents of a policy where there is more than one choice. After a failure the heuristic decides.
class Agents final : public Decider {
public:
  Agents(const Analyses &A, FactsOfFunction &Facts, RegallocConversation &Talk) : A(A), Facts(Facts), Talk(Talk), Graph(A) {}

  size_t next(llvm::ArrayRef<const llvm::LiveInterval *> Waiting) override;
  Fate fate(const llvm::LiveInterval &Range, const Choices &Legal) override;
  size_t region(const llvm::LiveInterval &Range, llvm::ArrayRef<Region> Legal) override;
  size_t colour(const llvm::LiveInterval &Range, llvm::ArrayRef<Candidate> Legal) override;

private:
  template <class Feature> void writeRange(size_t Column, const llvm::LiveInterval &Range);
  template <class Feature> void writeProgress();
  template <class Feature, class LegalT> size_t choose(size_t Columns, size_t Own, LegalT IsLegal);
  std::vector<unsigned> rangesByRegister() const;
  size_t wanting(llvm::MCPhysReg Register, llvm::ArrayRef<llvm::Register> Neighbours) const;

  const Analyses &A;
  FactsOfFunction &Facts;
  RegallocConversation &Talk;
  InterferenceGraph Graph;
  size_t AtStart = 0, Waits = 0;
};

} // namespace mlcb::rl4real
