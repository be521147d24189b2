// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/ModuleGuard.h"

#include "llvm/deploy/Compilation.h"
#include "llvm/deploy/GuardTrial.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/measure/LinkedSize.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/process/ForkedProbe.h"
#include "llvm/task/Remark.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mlcb {

namespace {

using Bytes = std::optional<uint64_t>;

/// What a module takes in a linked program after a change that is made in a fork; nothing where that fails.
Bytes sizeAfter(Module &M, measure::Measurer &Target, function_ref<Expected<void>()> Change) {
  const std::optional<std::string> Size = tryInFork(M, [&]() -> std::string {
    if (!Change())
      return "";
    const PolicySet::Suspension Alone;
    return utostr(measure::linkedSize(M, Target));
  });
  uint64_t Found;
  if (!Size || !to_integer(*Size, Found))
    return std::nullopt;
  return Found;
}

std::string inWords(StringRef Who, Bytes Size) { return (Who + ": " + (Size ? utostr(*Size) + " bytes" : "failed")).str(); }

void remarkTrials(ArrayRef<std::string> Trials, StringRef Kept, Module &M) { remark("Guard", join(Trials, ", ") + "; kept: " + Kept, M); }

using Tasks = SmallVector<const TaskRegistration *>;

/// The tasks of Guard::Module that a policy decides.
Expected<Tasks> guarded(PolicySet &Policies) {
  Tasks Found;
  for (const TaskRegistration *Task : TaskRegistration::comparedBy(Guard::Module)) {
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

/// All but one.
Tasks without(const Tasks &All, const TaskRegistration *Kept) {
  Tasks Others;
  copy_if(All, std::back_inserter(Others), [&](const TaskRegistration *Task) { return Task != Kept; });
  return Others;
}

Expected<void> passOverLarger(PolicySet &Policies, Module &M, const HostPipeline &Host) {
  const Expected<Tasks> All = guarded(Policies);
  if (!All || All->empty())
    return All ? Expected<void>() : Unexpected(All.error());
  auto Target = PolicySet::measurerFor(M, measure::Setup::Now);
  if (!Target)
    return Unexpected(Target.error());
  auto Try = [&](const TaskRegistration *Only) {
    return sizeAfter(M, **Target, [&]() -> Expected<void> {
      Policies.passOver(without(*All, Only));
      Host.run(M);
      return {};
    });
  };
  const TaskRegistration *Best = nullptr;
  const Bytes Stock = Try(nullptr);
  Bytes Least = Stock;
  std::vector<std::string> Trials;
  for (const TaskRegistration *Task : *All) {
    const Bytes Size = Try(Task);
    Trials.push_back(inWords(Task->name(), Size));
    if (Size && (!Least || *Size < *Least || (*Size == *Least && !Best))) {
      Best = Task;
      Least = Size;
    }
  }
  Policies.passOver(without(*All, Best));
  Trials.push_back(inWords(Host.text(), Stock));
  remarkTrials(Trials, Best ? Best->name().str() : Host.text(), M);
  return {};
}

} // namespace

void guardPipelines(PassBuilder &Builder) {
  if (!PolicySet::ofCommandLine().isGuarded())
    return;
  runAtPipelineStart(Builder, [](Module &M, const HostPipeline &Host) {
    PolicySet &Policies = PolicySet::ofCommandLine();
    if (!isProbe() && !Policies.isEmpty())
      if (auto Done = passOverLarger(Policies, M, Host); !Done)
        failCompilation(M, Done.error());
    return false;
  });
  runAtPipelineEnd(Builder, [] { PolicySet::ofCommandLine().passOver({}); });
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
  const bool IsSmaller = ByPolicy && (!ByHeuristic || *ByPolicy <= *ByHeuristic);
  remarkTrials({inWords(Task.name(), ByPolicy), inWords(Task.heuristic(), ByHeuristic)}, IsSmaller ? Task.name() : Task.heuristic(), M);
  return IsSmaller;
}

} // namespace mlcb
