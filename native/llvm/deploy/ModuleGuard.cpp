// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/ModuleGuard.h"

#include "llvm/deploy/Compilation.h"
#include "llvm/deploy/GuardTrial.h"
#include "llvm/deploy/ObjectGate.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/measure/LinkedSize.h"
#include "llvm/measure/ObjectLayout.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/process/ForkedProbe.h"
#include "llvm/process/JobSlots.h"
#include "llvm/task/Remark.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace mlcb {

static cl::opt<unsigned> Jobs("mlcb-jobs", cl::init(1),
                              cl::desc("forks of the guard that compile at once; of a jobserver in MAKEFLAGS it takes a slot for each but one"),
                              cl::value_desc("number"));

namespace {

using Bytes = std::optional<uint64_t>;

Bytes toBytes(const std::optional<std::string> &Text) {
  uint64_t Found;
  return Text && to_integer(*Text, Found) ? Bytes(Found) : std::nullopt;
}

/// What a module takes in a linked program after a change that is made in a fork; nothing where that fails.
Bytes sizeAfter(Module &M, measure::Measurer &Target, function_ref<Expected<void>()> Change) {
  return toBytes(tryInFork(M, [&]() -> std::string {
    if (!Change())
      return "";
    const PolicySet::Suspension Alone;
    return utostr(measure::linkedSize(M, Target.size(M).Allocated));
  }));
}

/// A way to compile a module: by one task's policy, or by none.
struct Way {
  const TaskRegistration *Task;
  std::string Name;
  Bytes Size;
  std::unique_ptr<HeldFork> Fork; // that goes on so
};

std::string inWords(ArrayRef<Way> Ways, const Way &Kept) {
  std::string Text;
  for (const Way &Tried : Ways)
    Text += Tried.Name + ": " + (Tried.Size ? utostr(*Tried.Size) + " bytes" : "failed") + (&Tried == &Ways.back() ? "; " : ", ");
  return Text + "kept: " + Kept.Name;
}

/// The first of the smallest; the last where all have failed.
Way &smallestOf(MutableArrayRef<Way> Ways) {
  Way *Least = &Ways.back();
  for (Way &Tried : reverse(Ways))
    if (Tried.Size && (!Least->Size || *Tried.Size <= *Least->Size))
      Least = &Tried;
  return *Least;
}

/// The tasks of a kind that a policy decides.
Expected<SmallVector<const TaskRegistration *>> decided(PolicySet &Policies, Guard Kind) {
  SmallVector<const TaskRegistration *> Found;
  for (const TaskRegistration *Task : TaskRegistration::comparedBy(Kind)) {
    Expected<std::unique_ptr<ModelRunner>> Policy = Policies.deciderInHost(*Task);
    if (!Policy)
      return Unexpected(Policy.error());
    if (!*Policy)
      continue;
    if (auto Allowed = Policies.checkGuard(**Policy); !Allowed)
      return Unexpected(Allowed.error());
    Found.push_back(Task);
  }
  return Found;
}

/// The ways to compile a module, of which the host takes the smallest.
class Comparison {
public:
  Comparison(PolicySet &Policies, ArrayRef<const TaskRegistration *> Tasks, Module &M, const HostPipeline &Host)
      : Policies(Policies), M(M), Host(Host) {
    for (const TaskRegistration *Task : Tasks)
      Ways.push_back({Task, Task->name().str(), std::nullopt, nullptr});
    Ways.push_back({nullptr, Host.text(), std::nullopt, nullptr});
  }

  /// Forks compile on in each way, and the smallest finishes in place of this process: true in such a fork. False where that cannot be.
  bool goOnInForks() {
    size_t Begun = 0;
    for (Way &Next : Ways) {
      while (Begun < Ways.size() && (&Ways[Begun] <= &Next || Others.take())) {
        Way &Tried = Ways[Begun++];
        auto Fork = goOnInFork(M);
        if (!Fork)
          return giveUp();
        if (!*Fork) {
          take(Tried);
          return true;
        }
        Tried.Fork = std::move(*Fork);
      }
      const std::optional<std::string> Found = Next.Fork->wait();
      Others.giveBack();
      if (Found && Found->empty())
        return giveUp();
      Next.Size = toBytes(Found);
      for (Way *Heard = Ways.begin(); Heard <= &Next; ++Heard)
        if (Heard != &smallestOf(Ways))
          Heard->Fork.reset();
    }
    if (const Way &Smallest = smallestOf(Ways); Smallest.Size)
      Smallest.Fork->finish(inWords(Ways, Smallest));
    return giveUp();
  }

  /// Forks compile in each way, and the host is left to do it once more in the smallest.
  Expected<void> tryInForks() {
    auto Target = PolicySet::measurerFor(M, measure::Setup::Now);
    if (!Target)
      return Unexpected(Target.error());
    for (Way &Tried : Ways)
      Tried.Size = sizeAfter(M, **Target, [&]() -> Expected<void> {
        take(Tried);
        Host.run(M);
        return {};
      });
    const Way &Smallest = smallestOf(Ways);
    take(Smallest);
    remark("Guard", inWords(Ways, Smallest), M);
    return {};
  }

private:
  bool giveUp() {
    for (Way &Tried : Ways)
      Tried.Fork.reset();
    Others.giveBackAll();
    return false;
  }

  void take(const Way &Chosen) {
    SmallVector<const TaskRegistration *> PassedOver;
    for (const Way &Other : Ways)
      if (Other.Task && Other.Task != Chosen.Task)
        PassedOver.push_back(Other.Task);
    Policies.passOver(PassedOver);
  }

  PolicySet &Policies;
  Module &M;
  const HostPipeline &Host;
  SmallVector<Way> Ways;
  JobSlots Others{Jobs}; // that fork beside the one that is waited for
};

/// Whether this process is a compiler of one file, which ends when that is compiled.
bool isClang() {
  const std::string Path = sys::fs::getMainExecutable(nullptr, nullptr);
  StringRef Program = sys::path::filename(Path);
  return Program.consume_front("clang") && (Program.empty() || (Program.consume_front("-") && all_of(Program, isDigit)));
}

/// Whether a fork may compile on in place of this process: it is held before it writes an object, and before nothing else.
Expected<bool> canGoOnInFork(PolicySet &Policies, const Module &M, const HostPipeline &Host) {
  const bool HasOwnDebugFile = any_of(M.debug_compile_units(), [](const DICompileUnit *Unit) { return !Unit->getSplitDebugFilename().empty(); });
  if (Host.Phase != ThinOrFullLTOPhase::None || !isClang() || HasOwnDebugFile || M.getContext().getMainRemarkStreamer())
    return false;
  // The guard of functions would compile each once more in every fork.
  const auto InFunctions = decided(Policies, Guard::Function);
  return InFunctions ? Expected<bool>(InFunctions->empty()) : Unexpected(InFunctions.error());
}

Expected<void> takeSmallest(PolicySet &Policies, Module &M, const HostPipeline &Host) {
  const auto Tasks = decided(Policies, Guard::Module);
  if (!Tasks || Tasks->empty())
    return Tasks ? Expected<void>() : Unexpected(Tasks.error());
  Comparison Compared(Policies, *Tasks, M, Host);
  const auto CanGoOn = canGoOnInFork(Policies, M, Host);
  if (!CanGoOn)
    return Unexpected(CanGoOn.error());
  if (*CanGoOn && Compared.goOnInForks())
    return {};
  return Compared.tryInForks();
}

/// The code of a fork that is held is generated, but not written before the host has its size.
void holdObject(Module &M) {
  if (HeldFork::isHeld())
    gateObjects(
        M.getTargetTriple(),
        [&M](const MCAssembler &Layout) {
          remark("Guard", askToFinish(utostr(measure::linkedSize(M, measure::sizeOf(Layout, M.getTargetTriple()).Allocated))), M);
        },
        HeldFork::refuse);
}

/// Passes that write what they are given: a fork that is held must not.
void endBeforeWriting(PassBuilder &Builder) {
  if (auto *Callbacks = Builder.getPassInstrumentationCallbacks())
    Callbacks->registerBeforeNonSkippedPassCallback([](StringRef Class, const Any &) {
      if (HeldFork::isHeld() && is_contained({"BitcodeWriterPass", "PrintModulePass", "ThinLTOBitcodeWriterPass", "EmbedBitcodePass"}, Class))
        HeldFork::refuse();
    });
}

} // namespace

void guardPipelines(PassBuilder &Builder, function_ref<void()> Deploy) {
  if (!PolicySet::ofCommandLine().isGuarded())
    return Deploy();
  runAtPipelineStart(Builder, [](Module &M, const HostPipeline &Host) {
    PolicySet &Policies = PolicySet::ofCommandLine();
    if (!isProbe() && !Policies.isEmpty())
      if (auto Done = takeSmallest(Policies, M, Host); !Done)
        failCompilation(M, Done.error());
    return false;
  });
  Deploy();
  runAtPipelineEnd(Builder, [](Module &M, OptimizationLevel) {
    PolicySet::ofCommandLine().passOver({});
    holdObject(M);
  });
  endBeforeWriting(Builder);
}

bool isPolicySmaller(const TaskRegistration &Task, Choice &Policy, Module &M) {
  const Bytes ByPolicy = sizeAfter(M, *Policy.Target, [&] {
    const PolicySet::Suspension Alone;
    return Policy.run(M);
  });
  const Bytes ByHeuristic = sizeAfter(M, *Policy.Target, [&]() -> Expected<void> {
    const PolicySet::Suspension Alone;
    PassRunner(Policy.Target->targetMachine()).run(Task.heuristic(), M);
    return {};
  });
  std::array Ways = {Way{&Task, Task.name().str(), ByPolicy, nullptr}, Way{nullptr, Task.heuristic().str(), ByHeuristic, nullptr}};
  const Way &Smallest = smallestOf(Ways);
  remark("Guard", inWords(Ways, Smallest), M);
  return Smallest.Task;
}

} // namespace mlcb
