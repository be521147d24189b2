// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/PolicySet.h"

#include "llvm/deploy/ModuleGuard.h"
#include "llvm/deploy/TaughtFor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

static cl::list<std::string> Runners("mlcb-runner",
                                     cl::desc("policy to ask: onnx:FOLDER, aot:POLICY.so, pipe:BASE, shm:PATH, grpc://HOST:PORT or default:"),
                                     cl::value_desc("uri"));
static cl::opt<bool> Guarded("mlcb-guard", cl::desc("keep what the compiler does without a policy: of its passes where that is smaller, of its "
                                                    "allocator in each function where that costs less"));

static cl::opt<unsigned> Candidates("mlcb-candidates",
                                    cl::desc("the guard; it tries so many answers of a policy, the first ones of its list or those that it prefers, "
                                             "where an answer is all there is to decide of a module or a function"),
                                    cl::value_desc("number"));

static thread_local unsigned Suspensions = 0;

PolicySet &PolicySet::ofCommandLine() {
  static thread_local PolicySet Policies;
  return Policies;
}

PolicySet::Suspension::Suspension() { ++Suspensions; }
PolicySet::Suspension::~Suspension() { --Suspensions; }

bool PolicySet::isEmpty() const { return Suspensions > 0 || Runners.empty(); }
bool PolicySet::isGuarded() const { return Guarded || Candidates > 0; }
unsigned PolicySet::candidates() const { return Candidates; }

bool PolicySet::isClaimedByOther(const std::string &Uri, StringRef Task) const {
  const auto Known = Claimed.find(Uri);
  return Known != Claimed.end() && Known->second != Task;
}

Expected<std::unique_ptr<ModelRunner>> PolicySet::open(const std::string &Uri) {
  if (auto Known = Unclaimed.extract(Uri))
    return std::move(Known.mapped());
  Expected<std::unique_ptr<ModelRunner>> Runner = openRunner(Uri);
  if (Runner && !(*Runner)->task().empty() && !findTask((*Runner)->task()))
    return fail(ErrorKind::InvalidArgument, Uri + " is for " + std::string((*Runner)->task()) +
                                                ", a task that this plugin does not have: expected a plugin that was built with it");
  return Runner;
}

static Expected<void> bind(ModelRunner &Runner, StringRef Task) {
  Expected<BoundSpec> Spec = bindTask(*findTask(std::string_view(Task)), Runner.parameters());
  return Spec ? Runner.bind(std::move(*Spec)) : Unexpected(Spec.error());
}

/// The first of the command line for the task, bound as its policy asks unless it is `default:`; null where all are for other tasks.
Expected<std::unique_ptr<ModelRunner>> PolicySet::runnerFor(const TaskRegistration &Task) {
  if (isEmpty() || is_contained(PassedOver, &Task))
    return nullptr;
  for (const std::string &Uri : Runners) {
    if (isClaimedByOther(Uri, Task.name()))
      continue;
    Expected<std::unique_ptr<ModelRunner>> Runner = open(Uri);
    if (!Runner)
      return Runner;
    const std::string_view Asked = (*Runner)->task();
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

Expected<bool> PolicySet::names(const TaskRegistration &Task) {
  if (any_of(Claimed, [&](const auto &Each) { return Each.second == Task.name(); }))
    return true;
  for (const std::string &Uri : Runners) {
    if (isClaimedByOther(Uri, Task.name()))
      continue;
    Expected<std::unique_ptr<ModelRunner>> Runner = open(Uri);
    if (!Runner)
      return Unexpected(Runner.error());
    const bool IsFor = (*Runner)->task() == std::string_view(Task.name());
    Unclaimed[Uri] = std::move(*Runner);
    if (IsFor)
      return true;
  }
  return false;
}

/// Warns where the policy was not taught for such a module; what the guard finds worse is not kept.
bool PolicySet::decidesAbout(const ModelRunner &Policy, const TaskRegistration &Task, const Module &M) const {
  const bool Leaves = Task.onOtherArchitecture() == OnOtherArchitecture::LeavesToLLVM && isForOtherArchitecture(Policy, M);
  if (Leaves || !isGuarded())
    warnWhereNotTaught(Policy, Task, M);
  return !Leaves;
}

Expected<std::unique_ptr<ModelRunner>> PolicySet::deciderInHost(const TaskRegistration &Task, const Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Policy = runnerFor(Task);
  if (!Policy || !*Policy)
    return Policy;
  if (!(*Policy)->decides())
    return nullptr;
  if (!decidesAbout(**Policy, Task, M))
    return nullptr;
  if (isGuarded() && Task.guard() == Guard::None)
    return fail(ErrorKind::InvalidArgument, "-mlcb-guard: none for " + Task.name().str() + ", expected no guard, or no policy for it");
  for (auto [Index, Metric] : enumerate((*Policy)->spec().Task.Metrics))
    if ((*Policy)->wants(Index))
      return fail(ErrorKind::InvalidArgument, "a learner wants the metric " + std::string(Metric.Name) +
                                                  ": expected opt -passes=" + Task.name().str() + " or a worker, which measure");
  return Policy;
}

Expected<SmallVector<const TaskRegistration *>> PolicySet::decided(Guard Kind, const Module &M) {
  SmallVector<const TaskRegistration *> Found;
  for (const TaskRegistration *Task : TaskRegistration::comparedBy(Kind)) {
    const auto Policy = deciderInHost(*Task, M);
    if (!Policy)
      return Unexpected(Policy.error());
    if (!*Policy)
      continue;
    if (auto Allowed = checkGuard(**Policy); !Allowed)
      return Unexpected(Allowed.error());
    Found.push_back(Task);
  }
  return Found;
}

Error PolicySet::noPolicyFor(const TaskRegistration &Task) const {
  std::string Others;
  for (const auto &[Uri, Runner] : Unclaimed)
    Others += (Others.empty() ? "" : ", ") + Uri + " is for " + std::string(Runner->task());
  return {ErrorKind::InvalidArgument, Task.name().str() + " has no policy: " + (Others.empty() ? "expected -mlcb-runner=onnx:FOLDER" : Others)};
}

Expected<void> PolicySet::checkGuard(const ModelRunner &Policy) const {
  if (isGuarded() && Policy.isRemote())
    return fail(ErrorKind::InvalidArgument, "-mlcb-guard needs a policy in this process, as onnx:FOLDER: it asks twice");
  return {};
}

Expected<std::unique_ptr<measure::Measurer>> PolicySet::measurerFor(const Module &M, measure::Setup When) {
  const auto Relocations = M.getPICLevel() == PICLevel::NotPIC ? Reloc::Static : Reloc::PIC_;
  auto Target = measure::Measurer::create(M.getTargetTriple(), "", {}, When, Relocations);
  if (!Target)
    return fail(ErrorKind::InvalidArgument, toString(Target.takeError()));
  return std::move(*Target);
}

static Choice notThePolicy(Decider Who) {
  Choice Made;
  Made.Who = Who;
  return Made;
}

Expected<Choice> PolicySet::choose(const TaskRegistration &Task, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Runner = runnerFor(Task);
  if (!Runner)
    return Unexpected(Runner.error());
  if (!*Runner || !(*Runner)->decides())
    return notThePolicy(*Runner ? Decider::Heuristic : Decider::Nobody);
  if (auto Allowed = checkGuard(**Runner); !Allowed)
    return Unexpected(Allowed.error());
  if (!decidesAbout(**Runner, Task, M))
    return notThePolicy(Decider::Heuristic);
  auto Target = measurerFor(M, measure::Setup::WhenMeasured);
  if (!Target)
    return Unexpected(Target.error());
  auto Bound = Task.prepare((*Runner)->spec(), **Target);
  if (!Bound)
    return Unexpected(Bound.error());
  // A learner's parameters are checked before it decides; a policy's were when it was exported.
  if (auto Ready = (*Runner)->isRemote() ? (*Bound)->prepareAll() : Expected<void>(); !Ready)
    return Unexpected(Ready.error());
  return Choice{Decider::Policy, std::move(*Runner), std::move(*Target), std::move(*Bound), Answer};
}

Expected<Choice> PolicySet::chooseSmaller(const TaskRegistration &Task, Module &M) {
  Expected<Choice> Chosen = choose(Task, M);
  if (!isGuarded() || !Chosen || Chosen->Who != Decider::Policy || isPolicySmaller(Task, *Chosen, M))
    return Chosen;
  return notThePolicy(Decider::Heuristic);
}

Expected<void> Choice::run(Module &M) {
  return Answer ? Bound->take(*Answer, M) : Bound->run(M, *Runner, {}).map([](EndReason) {});
}

} // namespace mlcb
