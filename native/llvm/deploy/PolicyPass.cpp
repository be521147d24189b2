// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/PolicyPass.h"

#include "llvm/deploy/Compilation.h"
#include "llvm/deploy/LinkTime.h"
#include "llvm/deploy/ModuleGuard.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/measure/Targets.h"
#include "llvm/pipeline/PassRunner.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

Expected<void> runPipeline(StringRef Text, Module &M) {
  auto Target = measure::createTargetMachine(M.getTargetTriple(), "");
  if (!Target)
    return fail(ErrorKind::InvalidArgument, toString(Target.takeError()));
  PassRunner(**Target).run(Text, M);
  return {};
}

/// A task by its name, as `opt -passes=posetrl` asks for it.
class NamedTaskPass : public PassInfoMixin<NamedTaskPass> {
public:
  explicit NamedTaskPass(const TaskRegistration &Task) : Task(Task) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Expected<Choice> Chosen = PolicySet::ofCommandLine().chooseSmaller(Task, M);
    Expected<void> Done = Chosen ? follow(*Chosen, M) : Unexpected(Chosen.error());
    if (!Done)
      failCompilation(M, Done.error());
    return PreservedAnalyses::none();
  }

private:
  Expected<void> follow(Choice &Chosen, Module &M) {
    if (Chosen.Who == Decider::Heuristic)
      return runPipeline(Task.heuristic(), M);
    if (Chosen.Who == Decider::Nobody)
      return Unexpected(PolicySet::ofCommandLine().noPolicyFor(Task));
    return Chosen.run(M);
  }

  const TaskRegistration &Task;
};

bool addByName(StringRef Name, ModulePassManager &Passes) {
  const TaskRegistration *Task = TaskRegistration::find(Name);
  if (Task)
    Passes.addPass(NamedTaskPass(*Task));
  return Task;
}

} // namespace

void registerPolicyPasses(PassBuilder &Builder) {
  Builder.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) { return addByName(Name, Passes); });
  if (PolicySet::ofCommandLine().isEmpty())
    return;
  leaveDecisionsToLink(Builder, [&] { guardPipelines(Builder, [&] { TaskRegistration::deployAll(Builder); }); });
}

} // namespace mlcb
