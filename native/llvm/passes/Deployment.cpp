// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/Deployment.h"

#include "llvm/measure/Measure.h"
#include "llvm/passes/Guard.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

static cl::list<std::string> Runners("mlcb-runner", cl::desc("policy to ask: onnx:FOLDER, pipe:BASE, shm:PATH or default:"),
                                     cl::value_desc("uri"));
static cl::opt<bool> Guarded("mlcb-guard", cl::desc("keep what the compiler does without a policy where that is smaller"));

bool hasRunners() { return !Runners.empty(); }

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

Expected<std::unique_ptr<measure::Measurer>> measurerFor(const Module &M) {
  auto Target = measure::Measurer::create(M.getTargetTriple(), "");
  if (!Target)
    return fail(ErrorKind::InvalidArgument, toString(Target.takeError()));
  return std::move(*Target);
}

/// Binds the task as the policy asks.
Expected<std::unique_ptr<TaskPass>> prepare(const TaskRegistration &Task, ModelRunner &Runner, measure::Measurer &Target) {
  Expected<BoundSpec> Spec = bindTask(*findTask(std::string_view(Task.name())), Runner.parameters());
  if (!Spec)
    return Unexpected(Spec.error());
  if (auto Bound = Runner.bind(std::move(*Spec)); !Bound)
    return Unexpected(Bound.error());
  return Task.prepare(Runner.spec(), Target);
}

} // namespace

Expected<Decider> decide(const TaskRegistration &Task, StringRef Heuristic, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Runner = openRunnerFor(Task.name());
  if (!Runner)
    return Unexpected(Runner.error());
  if (!*Runner || !(*Runner)->decides())
    return *Runner ? Decider::Heuristic : Decider::Nobody;
  if (Guarded && (*Runner)->isRemote())
    return fail(ErrorKind::InvalidArgument, "-mlcb-guard needs a policy in this process, as onnx:FOLDER: it asks twice");
  auto Target = measurerFor(M);
  if (!Target)
    return Unexpected(Target.error());
  auto Pass = prepare(Task, **Runner, **Target);
  if (!Pass)
    return Unexpected(Pass.error());

  auto RunPolicy = [&] { return (*Pass)->run(M, **Runner, {}).map([](EndReason) {}); };
  if (Guarded) {
    Verdict V = compare(M, **Target, RunPolicy, Heuristic);
    remark(V, Heuristic, M);
    if (!V.isForPolicy())
      return Decider::Heuristic;
  }
  return RunPolicy().map([] { return Decider::Policy; });
}

} // namespace mlcb
