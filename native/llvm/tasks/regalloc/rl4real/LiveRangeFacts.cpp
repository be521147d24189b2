// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/LiveRangeFacts.h"

#include "llvm/measure/AllocationCost.h"
#include "llvm/tasks/regalloc/LiveRanges.h"
#include "llvm/tasks/regalloc/rl4real/AccessCosts.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mlcb::rl4real {

static constexpr float Heaviest = 1e9; // as declared
static constexpr float Slack = 60;     // instructions: the shortest are not far ahead

const LiveRangeFacts &FactsOfFunction::of(const LiveInterval &Range) {
  std::unique_ptr<LiveRangeFacts> &Facts = Known[Range.reg()];
  if (!Facts)
    Facts = std::make_unique<LiveRangeFacts>(find(Range));
  return *Facts;
}

void FactsOfFunction::note(Register Part, unsigned SplitsBefore) {
  Splits[Part] = SplitsBefore;
  Parts[A.VRM.getOriginal(Part)].push_back(Part);
}

void FactsOfFunction::noteSplit(const LiveInterval &Range, ArrayRef<Register> New) {
  const unsigned Own = splits(Range.reg()) + 1;
  for (const Register Part : New)
    note(Part, Own);
}

LiveRangeFacts FactsOfFunction::find(const LiveInterval &Range) const {
  LiveRangeFacts Facts{};
  Facts.Embedding.resize(dimension());
  for (const Access &Each : accessesOf(A, Range).All) {
    const auto Times = static_cast<float>(A.frequency(*Each.block()));
    Facts.SpillCost += static_cast<float>(Each.Cost);
    Facts.CopyCost += Times * static_cast<float>(Each.MI->isCopy() * measure::CopyWeight);
    Facts.Hottest = std::max(Facts.Hottest, Times);
    ++Facts.Uses;
    if (Seeds)
      Seeds->embed(*Each.MI, Facts.Embedding);
  }
  for (float &Element : Facts.Embedding)
    Element /= std::max(Facts.Uses, 1.0F);
  Facts.Weight = Range.isSpillable() ? std::min(Range.weight(), Heaviest) : Heaviest;
  const unsigned Instructions = Range.getSize() / SlotIndex::InstrDist;
  Facts.Instructions = static_cast<float>(Instructions);
  Facts.Density = Range.isSpillable() ? std::min(Facts.SpillCost / (Facts.Instructions + Slack), Heaviest) : Heaviest;
  Facts.Calls = static_cast<float>(callsAcross(Range, A.LIS));
  Facts.Local = !Range.empty() && A.LIS.intervalIsInOneMBB(Range); // it may be gone while it waits
  Facts.Hinted = A.VRM.hasKnownPreference(Range.reg());
  Facts.Registers = static_cast<float>(A.order(Range.reg()).size());
  return Facts;
}

} // namespace mlcb::rl4real
