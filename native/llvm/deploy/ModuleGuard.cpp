// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/ModuleGuard.h"

#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/Measure.h"
#include "llvm/measure/UseOrder.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/process/ForkedProbe.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

#include <unistd.h>

using namespace llvm;

namespace mlcb {

namespace {

constexpr unsigned MaxSeconds = 600;

struct ErrorsEndTheProcess final : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &Info) override {
    if (Info.getSeverity() == DS_Error)
      _exit(1);
    return true;
  }
};

/// A fork must not run the host's handlers, which remove its output, nor write to its file of remarks.
void endSilentlyOnErrors(LLVMContext &Context) {
  remove_fatal_error_handler();
  install_fatal_error_handler([](void *, const char *, bool) { _exit(1); });
  Context.setDiagnosticHandler(std::make_unique<ErrorsEndTheProcess>());
  Context.setLLVMRemarkStreamer(nullptr);
}

std::shared_ptr<RegallocConversation> nobody(StringRef, Module &) { return nullptr; }

std::optional<uint64_t> sizeAfter(Module &M, measure::Measurer &Target, function_ref<Expected<void>()> Change) {
  std::optional<std::string> Size = probe(
      [&]() -> std::string {
        endSilentlyOnErrors(M.getContext());
        const RegallocScope Unadvised(nobody);
        return Change() ? utostr(Target.size(M).Allocated) : "";
      },
      MaxSeconds);
  uint64_t Bytes;
  if (!Size || !to_integer(*Size, Bytes))
    return std::nullopt;
  return Bytes;
}

std::string inWords(std::optional<uint64_t> Size) { return Size ? utostr(*Size) + " bytes" : "failed"; }

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

/// What came out in words, and then the functions that cost less, a line each.
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
                 Heuristic.size(), Kept).str() + Cheaper;
}

void remark(const Twine &Message, Module &M) {
  auto Body = find_if(M, [](const Function &F) { return !F.isDeclaration(); });
  if (Body == M.end())
    return;
  OptimizationRemark Remark("mlcb", "Guard", DiagnosticLocation(), &Body->getEntryBlock());
  Remark << Message.str();
  M.getContext().diagnose(Remark);
}

} // namespace

Verdict compare(Module &M, measure::Measurer &Target, function_ref<Expected<void>()> RunPolicy, StringRef Heuristic) {
  auto RunHeuristic = [&]() -> Expected<void> {
    PassRunner(Target.targetMachine()).run(Heuristic, M);
    return {};
  };
  return {sizeAfter(M, Target, RunPolicy), sizeAfter(M, Target, RunHeuristic)};
}

void remark(const Verdict &V, StringRef Heuristic, Module &M) {
  remark("policy: " + inWords(V.Policy) + ", " + Heuristic + ": " + inWords(V.Heuristic) + "; kept: " + (V.isForPolicy() ? "policy" : Heuristic),
         M);
}

StringSet<> cheaperFunctions(Module &M, TargetMachine &Machine, OpenRegalloc Policies) {
  std::optional<std::string> Said = probe(
      [&] {
        endSilentlyOnErrors(M.getContext());
        const Costs Heuristic = allocationCosts(M, Machine, nobody);
        return inLines(Heuristic, allocationCosts(M, Machine, std::move(Policies)));
      },
      MaxSeconds);
  if (!Said)
    Said = "policy: failed; kept: greedy";
  SmallVector<StringRef> Lines;
  StringRef(*Said).split(Lines, '\n');
  remark(Lines[0], M);
  StringSet<> Cheaper;
  Cheaper.insert_range(drop_begin(Lines));
  return Cheaper;
}

} // namespace mlcb
