// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Alternatives.h"

#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/CodeReader.h"
#include "llvm/measure/UseOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"

#include <cmath>
#include <numeric>
#include <optional>

using namespace llvm;

namespace mlcb {

namespace {

/// Notes the functions that pass a limit, while it lives; all else is the handler's of before.
class LimitScope {
public:
  LimitScope(LLVMContext &Context, Allocations &Found) : Context(Context) {
    auto Own = std::make_unique<Handler>(Context.getDiagnosticHandler(), Found);
    Noting = Own.get();
    Context.setDiagnosticHandler(std::move(Own));
  }
  ~LimitScope() { Context.setDiagnosticHandler(std::move(Noting->Before)); }
  LimitScope(const LimitScope &) = delete;
  LimitScope &operator=(const LimitScope &) = delete;

private:
  struct Handler final : DiagnosticHandler {
    std::unique_ptr<DiagnosticHandler> Before;
    Allocations &Found;

    Handler(std::unique_ptr<DiagnosticHandler> Before, Allocations &Found) : Before(std::move(Before)), Found(Found) {}

    bool handleDiagnostics(const DiagnosticInfo &Info) override {
      const auto *Limit = dyn_cast<DiagnosticInfoResourceLimit>(&Info);
      if (Limit && Limit->getSeverity() != DS_Error)
        Found.Functions[Limit->getFunction().getName().str()].PassesLimit = true;
      else
        Before->handleDiagnostics(Info);
      return true;
    }
  };

  LLVMContext &Context;
  Handler *Noting;
};

} // namespace

Allocations allocate(const Module &M, TargetMachine &Machine, const Alternative &By) {
  Allocations Found;
  const RegallocScope Advised(By.Advisors);
  const FirstUseScope Costing(By.FirstUse);
  std::optional<AllocatorScope> Allocating;
  if (By.Allocator)
    Allocating.emplace(By.Allocator);
  const LimitScope Noting(M.getContext(), Found);
  measure::CodeGenerator Generator(Machine, [&](const MachineFunction &MF, const measure::AllocationCosts &Of) {
    Allocation &Made = Found.Functions[MF.getName().str()];
    Made.Cost = Of.Executed;
    Made.MinSize = MF.getFunction().hasMinSize();
  });
  measure::CodeReader Reader;
  Generator.run(
      *measure::cloneExactly(M), [&](MachineFunction &MF) { Reader.note(MF); },
      [&](MCObjectStreamer &Streamer) {
        Reader.read(Streamer, [](const Function &, StringRef) { return std::nullopt; });
        for (const measure::CodeReader::Entry &Read : Reader.functions())
          if (const auto Known = Found.Functions.find(Read.F->getName().str()); Known != Found.Functions.end())
            Known->second.Bytes = Read.Code.bytes();
          else
            Found.SharedBytes += Read.Code.bytes();
      });
  return Found;
}

Allocation Allocations::sum() const {
  Allocation Sum{0, SharedBytes};
  for (const auto &[Name, Made] : Functions) {
    Sum.Cost += Made.Cost;
    Sum.Bytes += Made.Bytes;
    Sum.PassesLimit |= Made.PassesLimit;
  }
  return Sum;
}

/// Whether it names one function, in one line.
static bool isPlain(StringRef Name) { return !Name.empty() && !Name.contains('\n'); }

/// The functions that are better by an alternative, each by the best one, of several as good the first.
static SmallVector<BetterFunction> better(const Allocations &Own, ArrayRef<Allocations> Others) {
  SmallVector<BetterFunction> Found;
  for (const auto &[Name, Before] : Own.Functions) {
    if (!isPlain(Name))
      continue;
    BetterFunction Best{Name, 0, Before, Before};
    for (auto [By, Other] : enumerate(Others))
      if (const auto Known = Other.Functions.find(Name); Known != Other.Functions.end() && Known->second.isBetterThan(Best.Best))
        Best = {Name, By, Before, Known->second};
    if (Best.Best.isBetterThan(Before))
      Found.push_back(Best);
  }
  return Found;
}

/// All functions by the alternative that is better for the module; none where there is none.
static SmallVector<BetterFunction> betterTogether(const Allocations &Own, ArrayRef<Allocations> Others) {
  Allocation Best = Own.sum();
  const Allocations *By = nullptr;
  for (const Allocations &Other : Others) {
    Allocation Sum = Other.sum();
    Sum.MinSize = true; // code is outlined to be small
    if (Sum.isBetterThan(Best)) {
      Best = Sum;
      By = &Other;
    }
  }
  SmallVector<BetterFunction> Found;
  if (By && all_of(make_first_range(Own.Functions), isPlain))
    for (const auto &[Name, Before] : Own.Functions)
      Found.push_back({Name, size_t(By - Others.begin()), Before, By->Functions.lookup(Name)});
  return Found;
}

SmallVector<BetterFunction> worthTheirBytes(const Allocations &Own, ArrayRef<Allocations> Others) {
  if (Own.SharedBytes || any_of(Others, [](const Allocations &Other) { return Other.SharedBytes > 0; }))
    return betterTogether(Own, Others);
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
