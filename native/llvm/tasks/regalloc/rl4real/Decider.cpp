// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Decider.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <random>

using namespace llvm;

namespace mlcb::rl4real {

Decider::~Decider() = default;

/// Hints keep LLVM's order.
static bool isBetter(const Candidate &One, const Candidate &Other) {
  const auto Key = [](const Candidate &Each) { return std::tuple(Each.price(), !Each.Hinted, Each.Hinted ? 0 : Each.Encoding); };
  return Key(One) < Key(Other);
}

/// A register may cost more than loads and stores that are seldom executed. A split seldom spares the copies that a register does not.
Fate Decider::fate(const LiveInterval &, const Choices &Legal) {
  const double Gain = Legal.Regions.empty() ? -HUGE_VAL : Legal.Regions.front().gain();
  const auto IsWorthIt = [&](const Candidate &Cheapest) {
    const double Saved = Legal.SpillCost - Cheapest.price();
    return !Legal.CanSpill || (Saved >= 0 && Saved + Cheapest.Copies >= Gain);
  };
  if (Legal.allow(Fate::Colour) && IsWorthIt(*min_element(Legal.Colours, isBetter)))
    return Fate::Colour;
  return Legal.allow(Fate::Split) && (!Legal.CanSpill || Gain > 0) ? Fate::Split : Fate::Spill;
}

size_t Decider::region(const LiveInterval &, ArrayRef<Region>) { return 0; }

size_t Decider::colour(const LiveInterval &, ArrayRef<Candidate> Legal) { return min_element(Legal, isBetter) - Legal.begin(); }

namespace {

/// Takes the first or the last of what is legal.
class EndDecider final : public Decider {
public:
  explicit EndDecider(bool Last) : Last(Last) {}

  size_t next(ArrayRef<const LiveInterval *> Waiting) override { return pick(Waiting.size()); }
  Fate fate(const LiveInterval &Range, const Choices &Legal) override { return Last ? lastFate(Legal) : Decider::fate(Range, Legal); }
  size_t region(const LiveInterval &, ArrayRef<Region> Legal) override { return pick(Legal.size()); }
  size_t colour(const LiveInterval &, ArrayRef<Candidate> Legal) override { return pick(Legal.size()); }

private:
  size_t pick(size_t Size) const { return Last ? Size - 1 : 0; }

  /// Spilling all that can be spilled would leave nothing to colour.
  static Fate lastFate(const Choices &Legal) {
    return Legal.allow(Fate::Split) ? Fate::Split : Legal.allow(Fate::Colour) ? Fate::Colour : Fate::Spill;
  }

  bool Last;
};

class RandomDecider final : public Decider {
public:
  explicit RandomDecider(unsigned Seed) : Engine(Seed) {}

  size_t next(ArrayRef<const LiveInterval *> Waiting) override { return draw(Waiting.size()); }
  Fate fate(const LiveInterval &, const Choices &Legal) override {
    SmallVector<Fate, 3> Allowed;
    copy_if(ArrayRef{Fate::Colour, Fate::Split, Fate::Spill}, std::back_inserter(Allowed), [&](Fate F) { return Legal.allow(F); });
    return Allowed[draw(Allowed.size())];
  }
  size_t region(const LiveInterval &, ArrayRef<Region> Legal) override { return draw(Legal.size()); }
  size_t colour(const LiveInterval &, ArrayRef<Candidate> Legal) override { return draw(Legal.size()); }

private:
  size_t draw(size_t Size) { return Engine() % Size; }

  std::mt19937 Engine;
};

/// Answers nothing legal.
class IllegalDecider final : public Decider {
public:
  size_t next(ArrayRef<const LiveInterval *> Waiting) override { return Waiting.size(); }
  Fate fate(const LiveInterval &, const Choices &Legal) override { return Legal.allow(Fate::Split) ? Fate::Colour : Fate::Split; }
  size_t region(const LiveInterval &, ArrayRef<Region> Legal) override { return Legal.size(); }
  size_t colour(const LiveInterval &, ArrayRef<Candidate> Legal) override { return Legal.size(); }
};

} // namespace

std::unique_ptr<Decider> makeDecider(StringRef Name) {
  if (Name == "heuristic")
    return std::make_unique<Decider>();
  if (Name == "first" || Name == "last")
    return std::make_unique<EndDecider>(Name == "last");
  if (Name == "illegal")
    return std::make_unique<IllegalDecider>();
  unsigned Seed;
  if (Name.consume_front("random:") && !Name.getAsInteger(10, Seed))
    return std::make_unique<RandomDecider>(Seed);
  return nullptr;
}

} // namespace mlcb::rl4real
