// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/PolicySet.h"

#include "llvm/deploy/ModuleGuard.h"
#include "llvm/measure/Measure.h"
#include "llvm/process/ForkedProbe.h"

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Signals.h"

#include <map>

using namespace llvm;

namespace mlcb {

static cl::list<std::string> Runners("mlcb-runner", cl::desc("policy to ask: onnx:FOLDER, aot:POLICY.so, pipe:BASE, shm:PATH, grpc://HOST:PORT or default:"),
                                     cl::value_desc("uri"));
static cl::opt<bool> Guarded("mlcb-guard", cl::desc("keep what the compiler does without a policy: of its passes where that is smaller, of its allocator in each function where that costs less"));

bool hasRunners() { return !Runners.empty(); }

namespace {

/// Those that were opened for a task and are for another one: a learner can be connected to only once.
thread_local std::map<std::string, std::unique_ptr<ModelRunner>> Unclaimed;

/// The task of each that was opened for its own: other tasks need not ask, and a learner does not listen twice.
thread_local std::map<std::string, std::string> Claimed;

bool isClaimedByOther(const std::string &Uri, StringRef Task) {
  const auto Known = Claimed.find(Uri);
  return Known != Claimed.end() && Known->second != Task;
}

Expected<std::unique_ptr<ModelRunner>> open(const std::string &Uri) {
  if (auto Known = Unclaimed.extract(Uri))
    return std::move(Known.mapped());
  return openRunner(Uri);
}

Expected<void> bind(ModelRunner &Runner, StringRef Task) {
  Expected<BoundSpec> Spec = bindTask(*findTask(std::string_view(Task)), Runner.parameters());
  return Spec ? Runner.bind(std::move(*Spec)) : Unexpected(Spec.error());
}

} // namespace

Expected<std::unique_ptr<ModelRunner>> runnerFor(const TaskRegistration &Task) {
  for (const std::string &Uri : Runners) {
    if (isClaimedByOther(Uri, Task.name()))
      continue;
    Expected<std::unique_ptr<ModelRunner>> Runner = open(Uri);
    if (!Runner)
      return Runner;
    std::string_view Asked = (*Runner)->task();
    if (!Asked.empty() && Asked != std::string_view(Task.name())) {
      Unclaimed[Uri] = std::move(*Runner);
      continue;
    }
    if ((*Runner)->decides()) {
      Claimed[Uri] = Task.name();
      if (auto Bound = bind(**Runner, Task.name()); !Bound)
        return Unexpected(Bound.error());
    }
    return Runner;
  }
  return nullptr;
}

Expected<std::unique_ptr<ModelRunner>> deciderFor(const TaskRegistration &Task) {
  Expected<std::unique_ptr<ModelRunner>> Runner = runnerFor(Task);
  if (Runner && *Runner && !(*Runner)->decides())
    return nullptr;
  return Runner;
}

Expected<std::unique_ptr<ModelRunner>> deciderInHost(const TaskRegistration &Task) {
  Expected<std::unique_ptr<ModelRunner>> Runner = deciderFor(Task);
  if (!Runner || !*Runner)
    return Runner;
  for (auto [Index, Metric] : enumerate((*Runner)->spec().Task.Metrics))
    if ((*Runner)->wants(Index))
      return fail(ErrorKind::InvalidArgument, "a learner wants the metric " + std::string(Metric.Name) +
                                                  ": expected opt -passes=" + Task.name().str() + " or a worker, which measure");
  return Runner;
}

Expected<std::unique_ptr<ModelRunner>> unguardedInHost(const TaskRegistration &Task) {
  Expected<std::unique_ptr<ModelRunner>> Runner = deciderInHost(Task);
  if (Runner && *Runner && Guarded)
    return fail(ErrorKind::InvalidArgument,
                "-mlcb-guard: none for " + Task.name().str() + ", expected no guard, or no policy for it");
  return Runner;
}

Error noRunnerFor(const TaskRegistration &Task) {
  std::string Others;
  for (const auto &[Uri, Runner] : Unclaimed)
    Others += (Others.empty() ? "" : ", ") + Uri + " is for " + std::string(Runner->task());
  return {ErrorKind::InvalidArgument,
          Task.name().str() + " has no policy: " + (Others.empty() ? "expected -mlcb-runner=onnx:FOLDER" : Others)};
}

bool isGuarded() { return Guarded; }

Expected<void> mayBeGuarded(const ModelRunner &Runner) {
  if (Guarded && Runner.isRemote())
    return fail(ErrorKind::InvalidArgument, "-mlcb-guard needs a policy in this process, as onnx:FOLDER: it asks twice");
  return {};
}

Expected<std::unique_ptr<measure::Measurer>> measurerFor(const Module &M) {
  const auto When = Guarded ? measure::Setup::Now : measure::Setup::WhenMeasured;
  auto Target = measure::Measurer::create(M.getTargetTriple(), "", {}, When);
  if (!Target)
    return fail(ErrorKind::InvalidArgument, toString(Target.takeError()));
  return std::move(*Target);
}

void refuse(Module &M, const Error &Why) {
  if (isRefused(M))
    return;
  if (!isProbe())
    sys::RunInterruptHandlers(); // opt ends inside emitError and would leave an empty output
  M.getContext().emitError("mlcb: " + Why.Message);
}

bool isRefused(const Module &M) { return M.getContext().getDiagHandlerPtr()->HasErrors; }

Expected<Decider> decide(const TaskRegistration &Task, StringRef Heuristic, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Runner = runnerFor(Task);
  if (!Runner)
    return Unexpected(Runner.error());
  if (!*Runner || !(*Runner)->decides())
    return *Runner ? Decider::Heuristic : Decider::Nobody;
  if (auto Allowed = mayBeGuarded(**Runner); !Allowed)
    return Unexpected(Allowed.error());
  auto Target = measurerFor(M);
  if (!Target)
    return Unexpected(Target.error());
  auto Pass = Task.prepare((*Runner)->spec(), **Target);
  if (!Pass)
    return Unexpected(Pass.error());
  // What a learner brings is checked before it decides; a policy's was when it was exported.
  if (auto Ready = (*Runner)->isRemote() ? (*Pass)->prepareAll() : Expected<void>(); !Ready)
    return Unexpected(Ready.error());

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
