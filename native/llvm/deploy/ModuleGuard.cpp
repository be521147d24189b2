// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/ModuleGuard.h"

#include "llvm/deploy/Comparison.h"
#include "llvm/deploy/Compilation.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/process/ForkedProbe.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mlcb {

namespace {

/// How a task may be done: as its policy says, or by an answer in its place.
struct Plan {
  std::string Name;
  std::optional<size_t> Answer;
};

/// The answers that -mlcb-candidates asks for, where one is all there is to decide; else the policy's own.
SmallVector<Plan> plansFor(const TaskRegistration &Task, const BoundTask &Bound) {
  const size_t Answers = std::min<size_t>(PolicySet::ofCommandLine().candidates(), Bound.answers());
  SmallVector<Plan> Plans;
  for (size_t Answer = 0; Answer < Answers; ++Answer)
    Plans.push_back({(Task.name() + " " + Twine(Answer + 1)).str(), Answer});
  if (Plans.empty())
    Plans.push_back({Task.name().str(), std::nullopt});
  return Plans;
}

/// Whether a fork may compile on in place of this process: it is held before it writes an object, and before nothing else.
Expected<bool> canGoOnInFork(PolicySet &Policies, const Module &M, ThinOrFullLTOPhase Phase) {
  const bool HasOwnDebugFile = any_of(M.debug_compile_units(), [](const DICompileUnit *Unit) { return !Unit->getSplitDebugFilename().empty(); });
  if (Phase != ThinOrFullLTOPhase::None || !isClang() || HasOwnDebugFile || M.getContext().getMainRemarkStreamer())
    return false;
  // The guard of functions would compile each once more in every fork.
  return Policies.decided(Guard::Function, M).map([](const auto &InFunctions) { return InFunctions.empty(); });
}

Expected<void> takeSmallestPipeline(PolicySet &Policies, Module &M, const HostPipeline &Host) {
  const auto Tasks = Policies.decided(Guard::Pipeline, M);
  if (!Tasks || Tasks->empty())
    return Tasks ? Expected<void>() : Unexpected(Tasks.error());
  const auto CanGoOn = canGoOnInFork(Policies, M, Host.Phase);
  if (!CanGoOn)
    return Unexpected(CanGoOn.error());
  Comparison Compared(M);
  for (const TaskRegistration *Task : *Tasks) {
    const auto Others = to_vector(make_filter_range(*Tasks, [=](auto *Other) { return Other != Task; }));
    const auto Chosen = Policies.choose(*Task, M);
    if (!Chosen)
      return Unexpected(Chosen.error());
    for (const Plan &By : plansFor(*Task, *Chosen->Bound))
      Compared.add(By.Name, [&, Others, Answer = By.Answer] { Policies.passOver(Others, Answer); });
  }
  Compared.add(Host.text(), [&] { Policies.passOver(*Tasks); });
  if (*CanGoOn && Compared.goOnInForks())
    return {};
  Compared.tryInForks([&] {
    Host.run(M);
    return Expected<void>();
  });
  return {};
}

} // namespace

bool isClang() {
  const std::string Path = sys::fs::getMainExecutable(nullptr, nullptr);
  StringRef Program = sys::path::filename(Path);
  return Program.consume_front("clang") && (Program.empty() || (Program.consume_front("-") && all_of(Program, isDigit)));
}

void guardPipelines(PassBuilder &Builder, function_ref<void()> Deploy) {
  if (!PolicySet::ofCommandLine().isGuarded())
    return Deploy();
  runAtPipelineStart(Builder, [](Module &M, const HostPipeline &Host) {
    PolicySet &Policies = PolicySet::ofCommandLine();
    if (!isProbe() && !Policies.isEmpty())
      if (auto Done = takeSmallestPipeline(Policies, M, Host); !Done)
        failCompilation(M, Done.error());
    return false;
  });
  Deploy();
  runAtPipelineEnd(Builder, [](Module &M, const HostPipeline &) {
    PolicySet::ofCommandLine().passOver({});
    holdObject(M);
    return false;
  });
  endBeforeWriting(Builder);
}

Expected<void> takeSmallestCode(Module &M, ThinOrFullLTOPhase Phase, Comparison Compared) {
  const auto CanGoOn = canGoOnInFork(PolicySet::ofCommandLine(), M, Phase);
  if (!CanGoOn)
    return Unexpected(CanGoOn.error());
  if (*CanGoOn && Compared.goOnInForks())
    return {};
  Compared.tryInForks([] { return Expected<void>(); }, measure::Setup::WhenMeasured);
  return {};
}

bool isPolicySmaller(const TaskRegistration &Task, Choice &Policy, Module &M) {
  bool ByPolicy = false;
  Comparison Compared(M);
  for (const Plan &By : plansFor(Task, *Policy.Bound))
    Compared.add(By.Name, [&, Answer = By.Answer] {
      ByPolicy = true;
      Policy.Answer = Answer;
    });
  Compared.add(Task.heuristic().str(), [&] { ByPolicy = false; });
  const PolicySet::Suspension Alone;
  Compared.tryInForks([&] {
    if (ByPolicy)
      return Policy.run(M);
    PassRunner(Policy.Target->targetMachine()).run(Task.heuristic(), M);
    return Expected<void>();
  });
  return ByPolicy;
}

} // namespace mlcb
