// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Alternatives.h"

#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/CodeReader.h"
#include "llvm/measure/UseOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/Module.h"

#include <cmath>
#include <numeric>
#include <optional>

using namespace llvm;

namespace mlcb {

Allocations allocate(const Module &M, TargetMachine &Machine, const Alternative &By) {
  Allocations Found;
  const RegallocScope Advised(By.Advisors);
  const FirstUseScope Costing(By.FirstUse);
  std::optional<AllocatorScope> Allocating;
  if (By.Allocator)
    Allocating.emplace(By.Allocator);
  measure::CodeGenerator Generator(Machine, [&](const MachineFunction &MF, const measure::AllocationCosts &Of) {
    Found[MF.getName().str()] = {Of.Executed, 0, MF.getFunction().hasMinSize()};
  });
  measure::CodeReader Reader;
  Generator.run(
      *measure::cloneExactly(M), [&](MachineFunction &MF) { Reader.note(MF); },
      [&](MCObjectStreamer &Streamer) {
        Reader.read(Streamer, [](const Function &, StringRef) { return std::nullopt; });
        for (const measure::CodeReader::Entry &Read : Reader.functions())
          if (const auto Known = Found.find(Read.F->getName().str()); Known != Found.end())
            Known->second.Bytes = Read.Code.bytes();
      });
  return Found;
}

double totalCost(const Allocations &Of) {
  return std::accumulate(Of.begin(), Of.end(), 0.0, [](double Sum, const auto &F) { return Sum + F.second.Cost; });
}

/// Whether it names one function, in one line.
static bool isPlain(StringRef Name) { return !Name.empty() && !Name.contains('\n'); }

/// The functions that are better by an alternative, each by the best one, of several as good the first.
static SmallVector<BetterFunction> better(const Allocations &Own, ArrayRef<Allocations> Others) {
  SmallVector<BetterFunction> Found;
  for (const auto &[Name, Before] : Own) {
    if (!isPlain(Name))
      continue;
    BetterFunction Best{Name, 0, Before, Before};
    for (auto [By, Other] : enumerate(Others))
      if (const auto Known = Other.find(Name); Known != Other.end() && Known->second.isBetterThan(Best.Best))
        Best = {Name, By, Before, Known->second};
    if (Best.Best.isBetterThan(Before))
      Found.push_back(Best);
  }
  return Found;
}

SmallVector<BetterFunction> worthTheirBytes(const Allocations &Own, ArrayRef<Allocations> Others) {
  SmallVector<BetterFunction> Kept = better(Own, Others);
  int64_t Growth = std::accumulate(Kept.begin(), Kept.end(), int64_t(0), [](int64_t Sum, const BetterFunction &F) { return Sum + F.growth(); });
  // The last ones gain least; those that do not grow come first.
  auto Worth = [](const BetterFunction &F) { return F.growth() > 0 ? F.gain() / double(F.growth()) : HUGE_VAL; };
  sort(Kept,
       [&](const BetterFunction &One, const BetterFunction &Other) { return std::pair(Worth(Other), One.Name) < std::pair(Worth(One), Other.Name); });
  while (Growth > 0)
    Growth -= Kept.pop_back_val().growth();
  return Kept;
}

double totalGain(ArrayRef<BetterFunction> Better) {
  return std::accumulate(Better.begin(), Better.end(), 0.0, [](double Sum, const BetterFunction &F) { return Sum + F.gain(); });
}

} // namespace mlcb
