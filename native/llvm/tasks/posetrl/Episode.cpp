// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PosetRL: a policy orders the passes of a module, one sub-sequence at a time (POSET-RL, ISPASS 2022).
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/BoundTask.h"
#include "llvm/task/Metrics.h"
#include "llvm/tasks/posetrl/ActionSpace.h"
#include "llvm/tasks/posetrl/Deploy.h"
#include "llvm/tasks/posetrl/Observation.h"
#include "llvm/tasks/posetrl/Parameters.h"
#include "spec/Tasks.h"

#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace mlcb {

namespace {

/// Bound and parsed: what all episodes of a configuration share.
class PosetRL final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target);

  Expected<void> prepareAll() override;
  Expected<EndReason> run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override;

private:
  friend class Episode;
  PosetRL(PosetRLParameters Parameters, measure::Measurer &Target)
      : Parameters(std::move(Parameters)), Observer(nullptr, this->Parameters.Observation), Target(Target),
        Runner(Target.targetMachine()) {}

  Expected<void> readVocabulary();

  /// Whether a later decision depends on what an action has done to the module.
  bool comparesModules() const { return Parameters.MaxSteps > 1; }

  PosetRLParameters Parameters;
  ModuleObserver Observer;
  measure::Measurer &Target;
  PassRunner Runner;
  std::optional<ActionSpace> Actions;
};

/// One module under one policy.
class Episode {
public:
  Episode(PosetRL &Task, Module &M, ModelRunner &Policy, const EpisodeRequest &Request)
      : Task(Task), M(M), Policy(Policy), Request(Request), Observation(Policy, Task.Observer, Task.Target, Task.comparesModules()),
        Mask(Task.Actions->size(), Request.Barred) {}

  Expected<EndReason> run();

private:
  Expected<void> start();
  Expected<size_t> ask();
  Expected<void> apply(size_t Index);
  bool atHorizon() const { return static_cast<int64_t>(Taken.size()) == Task.Parameters.MaxSteps; }
  void describe();
  Expected<void> measure();
  Expected<EndReason> finish(EndReason Why);

  PosetRL &Task;
  Module &M;
  ModelRunner &Policy;
  const EpisodeRequest &Request;
  PosetRLObservation Observation;
  ActionMask Mask;
  std::vector<int64_t> Taken;
  bool Measured = false; // the module as it is now
  WorkClock Work;
};

Expected<EndReason> Episode::run() {
  if (auto Started = start(); !Started)
    return Unexpected(Started.error());
  while (true) {
    if (atHorizon())
      return finish(EndReason::Horizon);
    if (!Mask.allowsAny())
      return finish(Taken.empty() ? EndReason::NoDecisions : EndReason::Exhausted);
    Expected<size_t> Choice = ask();
    if (!Choice)
      return Unexpected(Choice.error());
    if ((*Task.Actions)[*Choice].isStop())
      return finish(EndReason::Stopped);
    if (auto Applied = apply(*Choice); !Applied)
      return Unexpected(Applied.error());
  }
}

Expected<size_t> Episode::ask() {
  if (!Policy.measuresEndAlone())
    if (auto Done = measure(); !Done)
      return Unexpected(Done.error());
  endTurn<posetrl::Metric>(Policy, Work);
  auto Choice = Policy.evaluate<size_t>();
  beginTurn(Policy, Work);
  return Choice;
}

Expected<EndReason> Episode::finish(EndReason Why) {
  if (auto Done = measure(); !Done)
    return Unexpected(Done.error());
  endTurn<posetrl::Metric>(Policy, Work);
  return Policy.end(Why).map([Why] { return Why; });
}

Expected<void> Episode::start() {
  {
    const Uncounted Measuring(Work);
    if (auto Measured = Observation.baselines(M, {Task.Runner, Task.Target, Request.Cache, Request.Program}); !Measured)
      return Measured;
  }
  CurrentActivity Now("the start");
  // Without always-inline a function that must be inlined stays out of line, and the program looks smaller than it is.
  Task.Runner.run(Task.Parameters.StartFromOz ? "default<Oz>" : "always-inline", M);
  Observation.module(M);
  describe();
  return {};
}

Expected<void> Episode::apply(size_t Index) {
  const Action &Chosen = (*Task.Actions)[Index];
  CurrentActivity Now(Chosen.Text);
  uint64_t Before = Observation.fingerprint();
  Expected<bool> MayHaveChanged = Task.Actions->apply(Index, M);
  if (!MayHaveChanged)
    return Unexpected(MayHaveChanged.error());
  if (Request.Verify && verifyModule(M))
    return fail(ErrorKind::SystemError, "action '" + Chosen.Text + "' leaves a module that LLVM's verifier refuses");
  Taken.push_back(Index);
  if (atHorizon() && !Policy.observesEnd())
    return {};
  Observation.module(M);
  // Some passes change the module and say that all is preserved.
  if (*MayHaveChanged || Observation.fingerprint() != Before)
    Mask.moduleChanged();
  else
    Mask.didNothing(Index);
  if (Task.Parameters.Unique)
    Mask.bar(Index);
  describe();
  return {};
}

/// All that is told beside the module itself and its metrics.
void Episode::describe() {
  Observation.history(Taken, Task.Parameters.MaxSteps);
  Observation.mask(Mask);
  Measured = false;
}

Expected<void> Episode::measure() {
  if (Measured)
    return {};
  Measured = true;
  const Uncounted Measuring(Work);
  return Observation.metrics(M);
}

Expected<std::unique_ptr<BoundTask>> PosetRL::prepare(const BoundSpec &Spec, measure::Measurer &Target) {
  Expected<PosetRLParameters> Parameters = PosetRLParameters::read(Spec);
  if (!Parameters)
    return Unexpected(Parameters.error());
  std::unique_ptr<PosetRL> Task(new PosetRL(std::move(*Parameters), Target));
  Expected<ActionSpace> Actions = ActionSpace::create(Task->Parameters.Actions, Task->Runner);
  if (!Actions)
    return Unexpected(Actions.error());
  Task->Actions.emplace(std::move(*Actions));
  return Task;
}

Expected<void> PosetRL::prepareAll() {
  return readVocabulary().and_then([&] { return Actions->prepareAll(); });
}

Expected<void> PosetRL::readVocabulary() {
  return Vocabulary::shared().and_then([&](const Vocabulary *Seeds) {
    Observer = ModuleObserver(Seeds, Parameters.Observation);
    return Parameters.check(*Seeds);
  });
}

Expected<EndReason> PosetRL::run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) {
  if (PosetRLObservation::embeds(Policy, comparesModules()))
    if (auto Read = readVocabulary(); !Read)
      return Unexpected(Read.error());
  return Episode(*this, M, Policy, Request).run();
}

const TaskRegistration Registration("posetrl", "default<Oz>", &PosetRL::prepare, &replacePipeline);

} // namespace

} // namespace mlcb
