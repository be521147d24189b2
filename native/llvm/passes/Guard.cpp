// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/Guard.h"

#include "llvm/measure/Measure.h"
#include "llvm/passes/PassRunner.h"
#include "llvm/passes/Probe.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"

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

/// A fork must not run the host's handlers, which remove its output.
void endSilentlyOnErrors(LLVMContext &Context) {
  remove_fatal_error_handler();
  install_fatal_error_handler([](void *, const char *, bool) { _exit(1); });
  Context.setDiagnosticHandler(std::make_unique<ErrorsEndTheProcess>());
}

std::optional<uint64_t> sizeAfter(Module &M, measure::Measurer &Target, function_ref<Expected<void>()> Change) {
  std::optional<std::string> Size = probe(
      [&]() -> std::string {
        endSilentlyOnErrors(M.getContext());
        return Change() ? utostr(Target.size(M).Allocated) : "";
      },
      MaxSeconds);
  uint64_t Bytes;
  if (!Size || !to_integer(*Size, Bytes))
    return std::nullopt;
  return Bytes;
}

std::string inWords(std::optional<uint64_t> Size) { return Size ? utostr(*Size) + " bytes" : "failed"; }

} // namespace

Verdict compare(Module &M, measure::Measurer &Target, function_ref<Expected<void>()> RunPolicy, StringRef Heuristic) {
  auto RunHeuristic = [&]() -> Expected<void> {
    PassRunner(Target.targetMachine()).run(Heuristic, M);
    return {};
  };
  return {sizeAfter(M, Target, RunPolicy), sizeAfter(M, Target, RunHeuristic)};
}

void remark(const Verdict &V, StringRef Heuristic, Module &M) {
  auto Body = find_if(M, [](const Function &F) { return !F.isDeclaration(); });
  if (Body == M.end())
    return;
  OptimizationRemark Remark("mlcb", "Guard", DiagnosticLocation(), &Body->getEntryBlock());
  Remark << "policy: " << inWords(V.Policy) << ", " << Heuristic << ": " << inWords(V.Heuristic) << "; kept: "
         << (V.isForPolicy() ? "policy" : Heuristic);
  M.getContext().diagnose(Remark);
}

} // namespace mlcb
