// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/PolicyPass.h"

#include "llvm/measure/Measure.h"
#include "llvm/passes/TaskPass.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Signals.h"

using namespace llvm;

namespace mlcb {

static cl::list<std::string> Runners("mlcb-runner", cl::desc("policy to ask: onnx:FOLDER, pipe:BASE or default:"),
                                     cl::value_desc("uri"));

namespace {

/// The runner for a task, among those of the command line; null where every policy is for another task.
Expected<std::unique_ptr<ModelRunner>> openRunnerFor(StringRef Task) {
  for (const std::string &Uri : Runners) {
    Expected<std::unique_ptr<ModelRunner>> Runner = openRunner(Uri);
    if (!Runner || (*Runner)->task().empty() || (*Runner)->task() == std::string_view(Task))
      return Runner;
  }
  return nullptr;
}

Expected<void> runPolicy(const TaskRegistration &Task, ModelRunner &Runner, Module &M) {
  auto Target = measure::Measurer::create(M.getTargetTriple(), "");
  if (!Target)
    return fail(ErrorKind::InvalidArgument, toString(Target.takeError()));
  Expected<BoundSpec> Spec = bindTask(*findTask(std::string_view(Task.name())), Runner.parameters());
  if (!Spec)
    return Unexpected(Spec.error());
  if (auto Bound = Runner.bind(std::move(*Spec)); !Bound)
    return Bound;
  Expected<std::unique_ptr<TaskPass>> Pass = Task.prepare(Runner.spec(), **Target);
  if (!Pass)
    return Unexpected(Pass.error());
  return (*Pass)->run(M, Runner, {}).map([](EndReason) {});
}

/// One line, exit code 1, and no output file: opt ends inside emitError and would leave an empty one.
void refuse(LLVMContext &Context, const Error &Why) {
  sys::RunInterruptHandlers();
  Context.emitError("mlcb: " + Why.Message);
}

/// Asks the policy; without one for the task it does nothing.
class PolicyPass : public PassInfoMixin<PolicyPass> {
public:
  explicit PolicyPass(const TaskRegistration &Task, std::shared_ptr<bool> Decided = std::make_shared<bool>())
      : Task(Task), Decided(std::move(Decided)) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Expected<bool> Done = ask(M);
    if (!Done)
      refuse(M.getContext(), Done.error());
    *Decided = Done.value_or(false);
    return PreservedAnalyses::none();
  }

private:
  /// Whether a policy has decided.
  Expected<bool> ask(Module &M) {
    Expected<std::unique_ptr<ModelRunner>> Runner = openRunnerFor(Task.name());
    if (!Runner)
      return Unexpected(Runner.error());
    if (!*Runner || !(*Runner)->decides())
      return false;
    return runPolicy(Task, **Runner, M).map([] { return true; });
  }

  const TaskRegistration &Task;
  std::shared_ptr<bool> Decided; // set once the policy has had its say
};

bool addByName(StringRef Name, ModulePassManager &Passes) {
  const TaskRegistration *Task = TaskRegistration::find(Name);
  if (!Task)
    return false;
  Passes.addPass(PolicyPass(*Task));
  return true;
}

/// A policy for the order of passes stands in for the default pipeline.
void replacePipeline(PassBuilder &Builder) {
  auto Decided = std::make_shared<bool>(false);
  if (auto *Callbacks = Builder.getPassInstrumentationCallbacks())
    Callbacks->registerShouldRunOptionalPassCallback([Decided](StringRef, Any) { return !*Decided; });
  Builder.registerPipelineStartEPCallback([Decided](ModulePassManager &Passes, OptimizationLevel Level) {
    const TaskRegistration *Task = TaskRegistration::find("posetrl");
    if (Task && Level != OptimizationLevel::O0)
      Passes.addPass(PolicyPass(*Task, Decided));
  });
}

} // namespace

void registerPolicyPasses(PassBuilder &Builder) {
  Builder.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
        return addByName(Name, Passes);
      });
  if (!Runners.empty())
    replacePipeline(Builder);
}

} // namespace mlcb
