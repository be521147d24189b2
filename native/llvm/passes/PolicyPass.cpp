// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/PolicyPass.h"

#include "llvm/measure/Targets.h"
#include "llvm/passes/DefaultPipeline.h"
#include "llvm/passes/Deployment.h"
#include "llvm/passes/PassRunner.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Signals.h"

using namespace llvm;

namespace mlcb {

namespace {

/// One line, exit code 1, and no output file: opt ends inside emitError and would leave an empty one.
void refuse(Module &M, const Error &Why) {
  sys::RunInterruptHandlers();
  M.getContext().emitError("mlcb: " + Why.Message);
}

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
    Expected<Decider> Who = decide(Task, Task.heuristic(), M);
    Expected<void> Done = Who ? follow(*Who, M) : Unexpected(Who.error());
    if (!Done)
      refuse(M, Done.error());
    return PreservedAnalyses::none();
  }

private:
  Expected<void> follow(Decider Who, Module &M) {
    if (Who == Decider::Heuristic)
      return runPipeline(Task.heuristic(), M);
    if (Who == Decider::Nobody)
      return fail(ErrorKind::InvalidArgument, Task.name().str() + " has no policy: expected -mlcb-runner=onnx:FOLDER");
    return {};
  }

  const TaskRegistration &Task;
};

/// A policy for the order of passes in the place of the pipeline that it stands at the start of.
class PipelinePass : public PassInfoMixin<PipelinePass> {
public:
  /// Skip is set where no optional pass may run afterwards.
  PipelinePass(const TaskRegistration &Task, std::string Pipeline, std::shared_ptr<bool> Skip)
      : Task(Task), Pipeline(std::move(Pipeline)), Skip(std::move(Skip)) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Expected<Decider> Who = decide(Task, Pipeline, M);
    *Skip = !Who || *Who == Decider::Policy;
    if (!Who)
      refuse(M, Who.error());
    return PreservedAnalyses::none();
  }

private:
  const TaskRegistration &Task;
  std::string Pipeline;
  std::shared_ptr<bool> Skip;
};

void replacePipeline(PassBuilder &Builder, const TaskRegistration &Task) {
  auto Skip = std::make_shared<bool>(false);
  if (auto *Callbacks = Builder.getPassInstrumentationCallbacks())
    Callbacks->registerShouldRunOptionalPassCallback([Skip](StringRef, Any) { return !*Skip; });
  Builder.registerPipelineStartEPCallback([&Task, Skip](ModulePassManager &Passes, OptimizationLevel Level) {
    if (Level != OptimizationLevel::O0)
      Passes.addPass(PipelinePass(Task, defaultPipeline(Level.getSpeedupLevel(), Level.getSizeLevel()), Skip));
  });
}

bool addByName(StringRef Name, ModulePassManager &Passes) {
  const TaskRegistration *Task = TaskRegistration::find(Name);
  if (Task)
    Passes.addPass(NamedTaskPass(*Task));
  return Task;
}

} // namespace

void registerPolicyPasses(PassBuilder &Builder) {
  Builder.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
        return addByName(Name, Passes);
      });
  if (const TaskRegistration *Order = TaskRegistration::find("posetrl"); Order && hasRunners())
    replacePipeline(Builder, *Order);
}

} // namespace mlcb
