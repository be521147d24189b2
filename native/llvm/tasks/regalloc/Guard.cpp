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
  measure::CodeGenerator Generator(
      Machine, [&](const MachineFunction &MF, double Cost) { Found[MF.getName().str()] = {Cost, 0, MF.getFunction().hasMinSize()}; });
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

/// Whether it names one function, in one line.
bool isPlain(StringRef Name) { return !Name.empty() && !Name.contains('\n'); }

/// The result in words, and then the functions that are better by the policies, a line each.
std::string inLines(const Costs &Heuristic, const Costs &Policies) {
  double ByHeuristic = 0, ByPolicies = 0, Kept = 0;
  std::string Better;
  size_t NumBetter = 0;
  for (auto [Own, Other] : zip_equal(Heuristic, Policies)) {
    ByHeuristic += Own.second.Cost;
    ByPolicies += Other.second.Cost;
    const bool IsBetter = Other.second.isBetterThan(Own.second) && isPlain(Own.first);
    Kept += (IsBetter ? Other : Own).second.Cost;
    NumBetter += IsBetter;
    if (IsBetter)
      Better += "\n" + Own.first;
  }
  return formatv("policy: {0:f4}, greedy: {1:f4}; kept: policy in {2} of {3} functions, {4:f4}", ByPolicies, ByHeuristic, NumBetter, Heuristic.size(),
                 Kept)
             .str() +
         Better;
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
