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
    Text += Tried.Name + ": " + (Tried.Found ? Tried.Found->inWords() : "failed") + (&Tried == &Ways.back() ? "; " : ", ");
  return Text + "kept: " + Kept.Name;
}

Way &Comparison::smallest() {
  Way &Own = Ways[Added - 1];
  Way *Least = &Own;
  for (Way &Tried : reverse(Ways))
    if (Tried.Found && (!Own.Found || Tried.Found->Limits <= Own.Found->Limits) && (!Least->Found || Tried.Found->Bytes <= Least->Found->Bytes))
      Least = &Tried;
  return *Least;
}

bool Comparison::addLast() {
  if (!Last)
    return false;
  Ways.push_back(std::exchange(Last, nullptr)(Ways));
  return true;
}

Expected<bool> Comparison::begin(Way &Begun) {
  auto Fork = goOnInFork(M);
  if (!Fork)
    return Unexpected(Fork.error());
  Begun.Fork = std::move(*Fork);
  if (Begun.Fork)
    return false;
  tellAbout(Functions);
  Begun.Take();
  return true;
}

bool Comparison::hear(Way &Begun) {
  const std::optional<std::string> Told = Begun.Fork->wait();
  Begun.Found = ObjectReport::parse(Told.value_or(""));
  return !Told || !Told->empty();
}

Expected<bool> Comparison::askWithLast() {
  Way &Tried = Ways.back();
  auto InFork = begin(Tried);
  if (!InFork || *InFork)
    return InFork;
  if (!hear(Tried) || !Tried.Found)
    return fail(ErrorKind::SystemError, Tried.Name + " tells no size");
  remark("Guard", askToFinish(Tried.Found->text()), M);
  return false;
}

Expected<bool> Comparison::beginWhileSlotsLast(size_t WaitedFor, size_t &Next, JobSlots &Others) {
  for (; Next < Ways.size() && (Ways[Next].Fork || Next <= WaitedFor || Others.take()); ++Next)
    if (!Ways[Next].Fork)
      if (auto InFork = begin(Ways[Next]); !InFork || *InFork)
        return InFork;
  return false;
}

void Comparison::dropLosers(size_t Heard) {
  const Way &Smallest = smallest();
  const bool IsFinal = Heard >= Added; // what passes too many limits is known
  for (Way &Tried : MutableArrayRef(Ways).take_front(Heard))
    if (&Tried != &Smallest && (IsFinal || !Tried.Found || Smallest.Found->Limits <= Tried.Found->Limits))
      Tried.Fork.reset();
}

void Comparison::finishSmallest() {
  Way &Smallest = smallest();
  if (!Smallest.Found)
    return;
  if (HeldFork::isHeld())
    remark("Guard", askToFinish(Smallest.Found->text()), M);
  Smallest.Fork->finish(inWords(Smallest));
}

bool Comparison::goOnInForks() {
  JobSlots Others(Jobs); // that fork beside the one that is waited for
  if (HeldFork::isHeld() && TriesAllFirst)
    HeldFork::waitWithoutLimit();
  Expected<bool> InFork = HeldFork::isHeld() && !TriesAllFirst ? askWithLast() : false;
  size_t Next = 0;
  for (size_t Index = 0; InFork && !*InFork && (Index < Ways.size() || addLast()); ++Index) {
    InFork = beginWhileSlotsLast(Index, Next, Others);
    if (!InFork || *InFork)
      break;
    if (!Ways[Index].Found && !hear(Ways[Index]))
      return giveUp(Others);
    Others.giveBack();
    dropLosers(Index + 1);
  }
  if (InFork && *InFork)
    return true;
  if (InFork)
    finishSmallest();
  return giveUp(Others);
}

bool Comparison::giveUp(JobSlots &Others) {
  for (Way &Tried : Ways)
    Tried.Fork.reset();
  Others.giveBackAll();
  if (HeldFork::isHeld())
    HeldFork::refuse();
  return false;
}

void Comparison::tryInForks(function_ref<Expected<void>()> Rest, measure::Setup When) {
  auto Shared = PolicySet::measurerFor(M, When);
  if (!Shared) {
    Ways.back().Take();
    remark("Guard", "nothing is measured: " + Shared.error().Message + "; kept: " + Ways.back().Name, M);
    return;
  }
  for (size_t Index = 0; Index < Ways.size() || addLast(); ++Index) {
    const auto Told = tryInFork(M, [&]() -> std::string {
      Ways[Index].Take();
      if (!Rest())
        return "";
      const PolicySet::Suspension Alone;
      auto Own = When == measure::Setup::Now ? nullptr : PolicySet::measurerFor(M, measure::Setup::Now);
      return Own ? measured(M, *Own ? **Own : **Shared, Functions).text() : "";
    });
    Ways[Index].Found = ObjectReport::parse(Told.value_or(""));
  }
  const Way &Smallest = smallest();
  Smallest.Take();
  remark("Guard", inWords(Smallest), M);
}

} // namespace mlcb
