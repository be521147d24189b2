// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/Comparison.h"

#include "llvm/deploy/GuardTrial.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/process/JobSlots.h"
#include "llvm/task/Remark.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

static cl::opt<unsigned> Jobs("mlcb-jobs", cl::init(1),
                              cl::desc("forks of the guard that compile at once; of a jobserver in MAKEFLAGS it takes a slot for each but one"),
                              cl::value_desc("number"));

std::string Comparison::inWords(const Way &Kept) const {
  std::string Text;
  for (const Way &Tried : Ways)
    Text += Tried.Name + ": " + (Tried.Found ? std::to_string(Tried.Found->Bytes) + " bytes" : "failed") + (&Tried == &Ways.back() ? "; " : ", ");
  return Text + "kept: " + Kept.Name;
}

Way &Comparison::smallest() {
  Way *Least = &Ways.back();
  for (Way &Tried : reverse(Ways))
    if (Tried.Found && (!Least->Found || Tried.Found->Bytes <= Least->Found->Bytes))
      Least = &Tried;
  return *Least;
}

bool Comparison::addLast() {
  if (!Last)
    return false;
  Ways.push_back(std::exchange(Last, nullptr)(Ways));
  return true;
}

bool Comparison::goOnInForks() {
  JobSlots Others(Jobs); // that fork beside the one that is waited for
  size_t Begun = 0;
  for (size_t Index = 0; Index < Ways.size() || addLast(); ++Index) {
    for (; Begun < Ways.size() && (Begun <= Index || Others.take()); ++Begun) {
      auto Fork = goOnInFork(M);
      if (!Fork)
        return giveUp(Others);
      if (!*Fork) {
        tellAbout(Functions);
        Ways[Begun].Take();
        return true;
      }
      Ways[Begun].Fork = std::move(*Fork);
    }
    const std::optional<std::string> Told = Ways[Index].Fork->wait();
    Others.giveBack();
    if (Told && Told->empty())
      return giveUp(Others);
    Ways[Index].Found = ObjectReport::parse(Told.value_or(""));
    for (Way &Heard : MutableArrayRef(Ways).take_front(Index + 1))
      if (&Heard != &smallest())
        Heard.Fork.reset();
  }
  if (Way &Smallest = smallest(); Smallest.Found)
    letFinish(Smallest);
  return giveUp(Others);
}

/// Returns where the fork is gone.
void Comparison::letFinish(Way &Smallest) {
  if (HeldFork::isHeld())
    remark("Guard", askToFinish(Smallest.Found->text()), M);
  Smallest.Fork->finish(inWords(Smallest));
}

bool Comparison::giveUp(JobSlots &Others) {
  for (Way &Tried : Ways)
    Tried.Fork.reset();
  Others.giveBackAll();
  if (HeldFork::isHeld())
    HeldFork::refuse();
  return false;
}

Expected<void> Comparison::tryInForks(function_ref<Expected<void>()> Rest) {
  auto Target = PolicySet::measurerFor(M, measure::Setup::Now);
  if (!Target)
    return Unexpected(Target.error());
  for (size_t Index = 0; Index < Ways.size() || addLast(); ++Index) {
    const auto Told = tryInFork(M, [&]() -> std::string {
      Ways[Index].Take();
      if (!Rest())
        return "";
      const PolicySet::Suspension Alone;
      return measured(M, **Target, Functions).text();
    });
    Ways[Index].Found = ObjectReport::parse(Told.value_or(""));
  }
  const Way &Smallest = smallest();
  Smallest.Take();
  remark("Guard", inWords(Smallest), M);
  return {};
}

} // namespace mlcb
