// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/Refusal.h"

using namespace llvm;

namespace mlcb::loops {

namespace {

struct Wording {
  StringRef Name, Description;
};

/// In the order of the enum.
constexpr Wording Wordings[] = {
    {"not-simplified", "it has no preheader, no single latch, or exits that other code reaches"},
    {"several-exits", "it is left from elsewhere than its latch"},
    {"strange-control", "it branches by other than br and switch, or in a cycle that is no loop"},
    {"side-effects", "it calls or does something with effects beyond loads and stores"},
    {"ordered-memory", "it accesses memory by volatile or atomic operations"},
    {"not-duplicable", "it has an operation that may not be duplicated"},
    {"too-many-accesses", "it accesses memory in more places than are compared"},
    {"too-many-statements", "it has more statements than are decided on"},
    {"one-statement", "it has but one statement"},
    {"one-cycle", "its statements depend on each other in a cycle"},
};
static_assert(std::size(Wordings) == NumRefusals, "a wording for each");

} // namespace

StringRef nameOf(Refusal Why) { return Wordings[static_cast<size_t>(Why)].Name; }
StringRef describe(Refusal Why) { return Wordings[static_cast<size_t>(Why)].Description; }

} // namespace mlcb::loops
