// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Guard.h"

#include "llvm/deploy/GuardTrial.h"
#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/UseOrder.h"
#include "llvm/task/Remark.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace mlcb {

namespace {

/// Of each function, in the order in which code is generated.
using Costs = MapVector<std::string, double, StringMap<unsigned>>;

Costs allocationCosts(const Module &M, TargetMachine &Machine, OpenRegalloc Advisors) {
  Costs Found;
  const RegallocScope Advised(std::move(Advisors));
  measure::CodeGenerator Generator(Machine, [&](const MachineFunction &MF, double Cost) { Found[MF.getName().str()] = Cost; });
  Generator.run(*measure::cloneExactly(M), [](MachineFunction &) {}, [](MCObjectStreamer &) {});
  return Found;
}

/// Whether it names one function, in one line.
bool isPlain(StringRef Name) { return !Name.empty() && !Name.contains('\n'); }

/// The result in words, and then the functions that cost less, a line each.
std::string inLines(const Costs &Heuristic, const Costs &Policies) {
  double ByHeuristic = 0, ByPolicies = 0, Kept = 0;
  std::string Cheaper;
  size_t NumCheaper = 0;
  for (auto [Own, Other] : zip_equal(Heuristic, Policies)) {
    ByHeuristic += Own.second;
    ByPolicies += Other.second;
    const bool IsCheaper = Other.second < Own.second && isPlain(Own.first);
    Kept += IsCheaper ? Other.second : Own.second;
    NumCheaper += IsCheaper;
    if (IsCheaper)
      Cheaper += "\n" + Own.first;
  }
  return formatv("policy: {0:f4}, greedy: {1:f4}; kept: policy in {2} of {3} functions, {4:f4}", ByPolicies, ByHeuristic, NumCheaper,
                 Heuristic.size(), Kept)
             .str() +
         Cheaper;
}

} // namespace

StringSet<> cheaperFunctions(Module &M, TargetMachine &Machine, OpenRegalloc Policies) {
  std::optional<std::string> Result = tryInFork(M, [&] {
    const Costs Heuristic = allocationCosts(M, Machine, unadvised);
    return inLines(Heuristic, allocationCosts(M, Machine, std::move(Policies)));
  });
  if (!Result)
    Result = "policy: failed; kept: greedy";
  SmallVector<StringRef> Lines;
  StringRef(*Result).split(Lines, '\n');
  remark("Guard", Lines[0], M);
  StringSet<> Cheaper;
  Cheaper.insert_range(drop_begin(Lines));
  return Cheaper;
}

} // namespace mlcb
