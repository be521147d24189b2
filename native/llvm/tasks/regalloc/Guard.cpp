// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Guard.h"

#include "llvm/deploy/GuardTrial.h"
#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/CodeReader.h"
#include "llvm/measure/UseOrder.h"
#include "llvm/task/Remark.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <numeric>

using namespace llvm;

namespace mlcb {

namespace {

struct Allocated {
  double Cost = 0;
  uint32_t Bytes = 0;
  bool MinSize = false;

  /// At -Oz bytes count first.
  bool isBetterThan(const Allocated &Other) const {
    return MinSize ? std::pair(Bytes, Cost) < std::pair(Other.Bytes, Other.Cost) : Cost < Other.Cost;
  }
};

/// Of each function, in the order in which code is generated.
using Costs = MapVector<std::string, Allocated, StringMap<unsigned>>;

Costs allocationCosts(const Module &M, TargetMachine &Machine, OpenRegalloc Advisors) {
  Costs Found;
  const RegallocScope Advised(std::move(Advisors));
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
            Known->second.Bytes = Read.Code.Text.Bytes + Read.Code.FrameBytes;
      });
  return Found;
}

/// A function as LLVM has it, and by the policies.
struct Compared {
  StringRef Name;
  Allocated Own, Other;

  int64_t growth() const { return int64_t(Other.Bytes) - int64_t(Own.Bytes); }
  double gain() const { return Own.Cost - Other.Cost; }
};

/// Whether it names one function, in one line.
bool isPlain(StringRef Name) { return !Name.empty() && !Name.contains('\n'); }

/// The functions that are better by the policies, without those that gain least for their bytes: together they take no more than before.
SmallVector<Compared> worthTheirBytes(const Costs &Heuristic, const Costs &Policies) {
  SmallVector<Compared> Better;
  int64_t Growth = 0;
  for (auto [Own, Other] : zip_equal(Heuristic, Policies))
    if (Other.second.isBetterThan(Own.second) && isPlain(Own.first)) {
      Better.push_back({Own.first, Own.second, Other.second});
      Growth += Better.back().growth();
    }
  // The last ones gain least; those that do not grow come first.
  auto Worth = [](const Compared &F) { return F.growth() > 0 ? F.gain() / double(F.growth()) : HUGE_VAL; };
  sort(Better, [&](const Compared &One, const Compared &Other) { return std::pair(Worth(Other), One.Name) < std::pair(Worth(One), Other.Name); });
  while (Growth > 0)
    Growth -= Better.pop_back_val().growth();
  return Better;
}

/// The result in words, and then the functions that are kept by the policies, a line each.
std::string inLines(const Costs &Heuristic, const Costs &Policies) {
  auto Sum = [](const Costs &Of) {
    return std::accumulate(Of.begin(), Of.end(), 0.0, [](double Sum, const auto &F) { return Sum + F.second.Cost; });
  };
  const SmallVector<Compared> Better = worthTheirBytes(Heuristic, Policies);
  const double ByHeuristic = Sum(Heuristic);
  double Kept = ByHeuristic;
  std::string Names;
  for (const Compared &F : Better) {
    Kept -= F.gain();
    Names += ("\n" + F.Name).str();
  }
  return formatv("policy: {0:f4}, greedy: {1:f4}; kept: policy in {2} of {3} functions, {4:f4}", Sum(Policies), ByHeuristic, Better.size(),
                 Heuristic.size(), Kept)
             .str() +
         Names;
}

} // namespace

StringSet<> betterFunctions(Module &M, TargetMachine &Machine, OpenRegalloc Policies) {
  std::optional<std::string> Result = tryInFork(M, [&] {
    const Costs Heuristic = allocationCosts(M, Machine, unadvised);
    return inLines(Heuristic, allocationCosts(M, Machine, std::move(Policies)));
  });
  if (!Result)
    Result = "policy: failed; kept: greedy";
  SmallVector<StringRef> Lines;
  StringRef(*Result).split(Lines, '\n');
  remark("Guard", Lines[0], M);
  StringSet<> Better;
  Better.insert_range(drop_begin(Lines));
  return Better;
}

} // namespace mlcb
