// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/ModuleGuard.h"

#include "llvm/deploy/GuardTrial.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/measure/Measure.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/task/Remark.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mlcb {

static std::optional<uint64_t> sizeAfter(Module &M, measure::Measurer &Target, function_ref<Expected<void>()> Change) {
  const std::optional<std::string> Size = tryInFork(M, [&]() -> std::string {
    const PolicySet::Suspension Alone;
    return Change() ? utostr(Target.size(M).Allocated) : "";
  });
  uint64_t Bytes;
  if (!Size || !to_integer(*Size, Bytes))
    return std::nullopt;
  return Bytes;
}

static std::string inWords(std::optional<uint64_t> Size) { return Size ? utostr(*Size) + " bytes" : "failed"; }

Verdict compare(Module &M, measure::Measurer &Target, function_ref<Expected<void>()> RunPolicy, StringRef Heuristic) {
  auto RunHeuristic = [&]() -> Expected<void> {
    PassRunner(Target.targetMachine()).run(Heuristic, M);
    return {};
  };
  return {sizeAfter(M, Target, RunPolicy), sizeAfter(M, Target, RunHeuristic)};
}

void remark(const Verdict &V, StringRef Heuristic, Module &M) {
  remark("Guard",
         "policy: " + inWords(V.Policy) + ", " + Heuristic + ": " + inWords(V.Heuristic) + "; kept: " + (V.isForPolicy() ? "policy" : Heuristic), M);
}

} // namespace mlcb
