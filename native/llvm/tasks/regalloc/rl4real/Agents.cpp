// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Agents.h"

#include "spec/Tasks.h"
#include "llvm/measure/AllocationCost.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mlcb::rl4real {

namespace {

/// The place of an agent in the declaration, by the names of its tensors.
template <class Feature> constexpr size_t Which = 0;
template <> constexpr size_t Which<selector> = static_cast<size_t>(Agent::selector);
template <> constexpr size_t Which<tasker> = static_cast<size_t>(Agent::tasker);
template <> constexpr size_t Which<splitter> = static_cast<size_t>(Agent::splitter);
template <> constexpr size_t Which<colourer> = static_cast<size_t>(Agent::colourer);

constexpr size_t MaxRanges = 32, MaxRegions = 8, MaxColours = 32; // as declared

/// The tensors of one question.
template <class Feature> class Question {
public:
  explicit Question(ModelRunner &Policy) : Policy(Policy) {}

  /// A row of a tensor, which is empty where the policy does not see it.
  void set(Feature Of, size_t Row, ArrayRef<float> Values) {
    if (const std::span<float> Tensor = Policy.tensor<float>(Of, Which<Feature>); !Tensor.empty())
      std::ranges::copy(Values, Tensor.subspan(Row * Values.size()).begin());
  }

  void set(Feature Of, size_t Column, double Value) {
    Policy.tensor<float>(Of, Which<Feature>)[Column] = static_cast<float>(std::clamp(Value, -1e9, 1e9));
  }

  /// Zeros from a column on, in tensors with a column for each choice.
  void pad(std::initializer_list<Feature> Tensors, size_t From) {
    for (const Feature Each : Tensors)
      std::ranges::fill(Policy.tensor<float>(Each, Which<Feature>).subspan(From), 0.0F);
  }

private:
  ModelRunner &Policy;
};

} // namespace

/// Loads, stores and copies are charged as spills and splits insert them.
Agents::Agents(const Analyses &A, FactsOfFunction &Facts, RegallocConversation &Talk) : A(A), Facts(Facts), Talk(Talk), Graph(A, Facts), Use(A) {
  if (!Talk.isMeasured())
    return;
  const auto Cost = [&A] { return measure::allocationCost(A.MF, A.Frequencies); };
  Talk.chargeFor([Cost, Before = Cost()] { return Cost() - Before; });
}

Agents::~Agents() { Talk.chargeFor(nullptr); }

template <class Feature> void Agents::writeRange(size_t Column, const LiveInterval &Range) {
  const LiveRangeFacts &Own = Facts.of(Range);
  const RangeSums &Around = Graph.around(Range.reg());
  Question<Feature> Asked(Talk.policy());
  Asked.set(Feature::density, Column, Own.Density);
  Asked.set(Feature::weight, Column, Own.Weight);
  Asked.set(Feature::spill_cost, Column, Own.SpillCost);
  Asked.set(Feature::copy_cost, Column, Own.CopyCost);
  Asked.set(Feature::instructions, Column, Own.Instructions);
  Asked.set(Feature::uses, Column, Own.Uses);
  Asked.set(Feature::hottest, Column, Own.Hottest);
  Asked.set(Feature::calls, Column, Own.Calls);
  Asked.set(Feature::local, Column, Own.Local);
  Asked.set(Feature::hinted, Column, Own.Hinted);
  Asked.set(Feature::registers, Column, Own.Registers);
  Asked.set(Feature::parts, Column, Facts.splits(Range.reg()));
  Asked.set(Feature::degree, Column, Around.Ranges);
  Asked.set(Feature::waiting, Column, Around.Waiting);
  Asked.set(Feature::neighbour_density, Column, Around.Density.value() / std::max(Around.Waiting, 1U));
  Asked.set(Feature::neighbour_cost, Column, Around.SpillCost.value() / std::max(Around.Waiting, 1U));
  Asked.set(Feature::instruction_embedding, Column, Own.Embedding);
}

template <class Feature> void Agents::writeProgress() {
  Question<Feature>(Talk.policy()).set(Feature::progress, 0, double(Waits) / double(std::max<size_t>(AtStart, 1)));
}

/// The agent's answer; Own where it is the only choice.
template <class Feature, class LegalT> size_t Agents::choose(size_t Columns, size_t Own, LegalT IsLegal) {
  const std::span<int8_t> Mask = Talk.policy().tensor<int8_t>(Feature::action_mask, Which<Feature>);
  for (size_t I = 0; I < Mask.size(); ++I)
    Mask[I] = I < Columns && IsLegal(I);
  if (const auto Told = Talk.policy().tensor<int64_t>(Feature::heuristic, Which<Feature>); !Told.empty())
    Told[0] = static_cast<int64_t>(Own);
  return static_cast<size_t>(Talk.askIndex(Which<Feature>).value_or(static_cast<int64_t>(Own)));
}

void Agents::takeInChanges() {
  for (const Register R : Changed)
    Use.update(R);
  Graph.update(Changed);
  Changed.clear();
}

/// Of those waiting, the densest are shown, the densest first.
size_t Agents::next(ArrayRef<const LiveInterval *> Waiting) {
  Waits = Waiting.size();
  AtStart = AtStart ? AtStart : Waits;
  if (Talk.failure())
    return Decider::next(Waiting);
  takeInChanges();
  if (Waits < 2)
    return Decider::next(Waiting);
  const size_t Shown = std::min(Waits, MaxRanges);
  for (size_t I = 0; I < Shown; ++I)
    writeRange<selector>(I, *Waiting[Waits - 1 - I]);
  using enum selector;
  Question<selector>(Talk.policy())
      .pad({density, weight, spill_cost, copy_cost, instructions, uses, hottest, calls, local, hinted, registers, parts, degree, waiting,
            neighbour_density, neighbour_cost},
           Shown);
  Question<selector>(Talk.policy()).pad({instruction_embedding}, Shown * Facts.dimension());
  writeProgress<selector>();
  return Waits - 1 - choose<selector>(Shown, 0, [](size_t) { return true; });
}

Fate Agents::fate(const LiveInterval &Range, const Choices &Legal) {
  const Fate Own = Decider::fate(Range, Legal);
  constexpr Fate All[] = {Fate::Colour, Fate::Split, Fate::Spill};
  if (count_if(All, [&](Fate Each) { return Legal.allow(Each); }) < 2 || Talk.failure())
    return Own;
  const auto Least = [](const auto &Of, auto Cost) {
    return Of.empty()
               ? 0
               : std::invoke(Cost, *min_element(Of, [&](const auto &L, const auto &R) { return std::invoke(Cost, L) < std::invoke(Cost, R); }));
  };
  const double Costs[] = {Least(Legal.Colours, &Candidate::price),
                          Legal.Regions.empty() ? 0.0 : std::max(Legal.SpillCost - Legal.Regions.front().gain(), 0.0), Legal.SpillCost};
  const size_t Counts[] = {Legal.Colours.size(), Legal.Regions.size(), Legal.CanSpill};
  Question<tasker> Asked(Talk.policy());
  for (size_t I = 0; I < std::size(All); ++I) {
    Asked.set(tasker::kind, I, static_cast<double>(I));
    Asked.set(tasker::cost, I, Costs[I]);
    Asked.set(tasker::choices, I, static_cast<double>(Counts[I]));
  }
  writeRange<tasker>(0, Range);
  writeProgress<tasker>();
  const size_t Chosen = choose<tasker>(std::size(All), static_cast<size_t>(Own), [&](size_t I) { return Legal.allow(All[I]); });
  return Chosen < std::size(All) ? All[Chosen] : Own; // what is replayed may be for another question
}

size_t Agents::region(const LiveInterval &Range, ArrayRef<Region> Legal) {
  const size_t Own = Decider::region(Range, Legal), Shown = std::min(Legal.size(), MaxRegions);
  if (Shown < 2 || Talk.failure())
    return Own;
  Question<splitter> Asked(Talk.policy());
  for (const auto [I, Each] : enumerate(Legal.take_front(Shown))) {
    double Hottest = 0;
    for (const MachineBasicBlock *Block : Each.Blocks)
      Hottest = std::max(Hottest, A.frequency(*Block));
    Asked.set(splitter::frequency, I, Hottest);
    Asked.set(splitter::blocks, I, Each.isPart() ? 0.0 : static_cast<double>(Each.Blocks.size()));
    Asked.set(splitter::uses_inside, I, Each.Uses);
    Asked.set(splitter::edges, I, Each.Edges);
    Asked.set(splitter::inside, I, Each.SpillCost);
    Asked.set(splitter::free, I, Each.Free);
    Asked.set(splitter::saves, I, Each.Saves);
  }
  Asked.pad({splitter::frequency, splitter::blocks, splitter::uses_inside, splitter::inside, splitter::edges, splitter::free, splitter::saves},
            Shown);
  writeRange<splitter>(0, Range);
  return choose<splitter>(Shown, Own, [](size_t) { return true; });
}

size_t Agents::colour(const LiveInterval &Range, ArrayRef<Candidate> Legal) {
  const size_t Own = Decider::colour(Range, Legal), Shown = std::min(Legal.size(), MaxColours);
  if (Shown < 2 || Own >= Shown || Talk.failure())
    return Own;
  const auto Wanted = wanting(Range);
  Question<colourer> Asked(Talk.policy());
  for (const auto [I, Each] : enumerate(Legal.take_front(Shown))) {
    Asked.set(colourer::preferred, I, Each.Hinted);
    Asked.set(colourer::saves, I, Each.Saves);
    Asked.set(colourer::evicts, I, Each.Evicts);
    Asked.set(colourer::copies, I, Each.Copies);
    Asked.set(colourer::encoding, I, Each.Encoding);
    Asked.set(colourer::used, I, Use[Each.Register]);
    Asked.set(colourer::wanted, I, Wanted.lookup(Each.Register));
  }
  Asked.pad({colourer::preferred, colourer::saves, colourer::evicts, colourer::copies, colourer::encoding, colourer::used, colourer::wanted}, Shown);
  writeRange<colourer>(0, Range);
  writeProgress<colourer>();
  return choose<colourer>(Shown, Own, [](size_t) { return true; });
}

/// How many of the neighbours that wait prefer each register.
SmallDenseMap<Register, unsigned> Agents::wanting(const LiveInterval &Range) const {
  SmallDenseMap<Register, unsigned> Count;
  for (const Register Other : Graph.waitingAround(Range.reg()))
    if (const Register Hint = A.MRI.getSimpleHint(Other); Hint.isPhysical())
      ++Count[Hint];
    else if (Hint.isVirtual() && A.VRM.hasPhys(Hint))
      ++Count[A.VRM.getPhys(Hint)];
  return Count;
}

} // namespace mlcb::rl4real
