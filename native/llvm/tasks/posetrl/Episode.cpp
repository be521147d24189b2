// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The task posetrl: a policy orders the passes of a module, one sub-sequence at a time (POSET-RL, ISPASS 2022).
#include "spec/Tasks.h"
#include "llvm/pipeline/Level.h"
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/Conversation.h"
#include "llvm/task/TaskRegistration.h"
#include "llvm/tasks/posetrl/ActionSpace.h"
#include "llvm/tasks/posetrl/Deploy.h"
#include "llvm/tasks/posetrl/Observation.h"
#include "llvm/tasks/posetrl/Parameters.h"

#include "llvm/IR/Module.h"

#include <utility>

using namespace llvm;

namespace mlcb {

namespace {

/// Bound and parsed: what all episodes of a configuration share.
class PosetRL final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target);

  Expected<void> prepareAll() override;
  Expected<EndReason> run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override;
  size_t answers() const override { return comparesModules() ? 0 : Sequences.size(); }
  Expected<void> take(size_t Answer, Module &M) override;

private:
  friend class Episode;
  PosetRL(PosetRLParameters Parameters, measure::Measurer &Target)
      : Parameters(std::move(Parameters)), Observer(nullptr, this->Parameters.Observation), Target(Target), Runner(Target.targetMachine()),
        Actions(std::move(this->Parameters.Actions), &Runner) {}

  Expected<void> readVocabulary();
  void begin(Module &M);

  /// Whether a later decision depends on what an action has done to the module.
  bool comparesModules() const { return Parameters.MaxSteps > 1; }

  PosetRLParameters Parameters;
  ModuleObserver Observer;
  measure::Measurer &Target;
  PassRunner Runner;
  ActionSpace Actions;
  std::vector<size_t> Sequences; // the actions that are passes
};

/// The questions about the order of passes on one module, and the passes between them.
class Episode final : public Conversation {
public:
  Episode(PosetRL &Task, Module &M, ModelRunner &Policy, const EpisodeRequest &Request)
      : Conversation(M, Policy, Request, [this] { return measure(); }), Task(Task), M(M), Request(Request),
        Observation(Policy, Task.Observer, Task.Target, Task.comparesModules()), Mask(Task.Actions.size(), Request.Forbidden) {}

  Expected<EndReason> run();

private:
  Expected<void> start();
  Expected<void> apply(size_t Index);
  bool atHorizon() const { return std::cmp_equal(Taken.size(), Task.Parameters.MaxSteps); }
  void describe();
  Expected<void> measure();
  Expected<EndReason> end(EndReason Why) {
    return finish([this] { return measure(); }, Why);
  }

  PosetRL &Task;
  Module &M;
  const EpisodeRequest &Request;
  PosetRLObservation Observation;
  ActionMask Mask;
  std::vector<int64_t> Taken;
  bool Measured = false; // the module as it is now
};

Expected<EndReason> Episode::run() {
  if (auto Started = start(); !Started)
    return Unexpected(Started.error());
  while (true) {
    if (atHorizon())
      return end(EndReason::Horizon);
    if (!Mask.allowsAny())
      return end(Taken.empty() ? EndReason::NoDecisions : EndReason::Exhausted);
    Expected<size_t> Choice = ask<size_t>();
    if (!Choice)
      return Unexpected(Choice.error());
    if (Task.Actions[*Choice].isStop())
      return end(EndReason::Stopped);
    if (auto Applied = apply(*Choice); !Applied)
      return Unexpected(Applied.error());
  }
}

Expected<void> Episode::start() {
  {
    const Uncounted Measuring(clock());
    if (auto Measured = Observation.baselines(M, {Task.Runner, Task.Target, Request.Cache, Request.Program}); !Measured)
      return Measured;
  }
  CurrentActivity Now("the start");
  Task.begin(M);
  Observation.module(M);
  describe();
  return {};
}

Expected<void> Episode::apply(size_t Index) {
  const Action &Chosen = Task.Actions[Index];
  CurrentActivity Now(Chosen.Text);
  uint64_t Before = Observation.fingerprint();
  Expected<bool> MayHaveChanged = Task.Actions.apply(Index, M);
  if (!MayHaveChanged)
    return Unexpected(MayHaveChanged.error());
  if (auto Sound = verify("action '" + Chosen.Text + "'"); !Sound)
    return Sound;
  Taken.push_back(Index);
  if (atHorizon() && !policy().observesEnd())
    return {};
  Observation.module(M);
  // Some passes change the module and say that all is preserved.
  if (*MayHaveChanged || Observation.fingerprint() != Before)
    Mask.moduleChanged();
  else
    Mask.didNothing(Index);
  if (Task.Parameters.Unique)
    Mask.forbid(Index);
  describe();
  return {};
}

/// Writes all features but those of the module itself.
void Episode::describe() {
  Observation.history(Taken, Task.Parameters.MaxSteps);
  Observation.mask(Mask);
  Measured = false;
}

Expected<void> Episode::measure() {
  if (Measured)
    return {};
  Measured = true;
  return Observation.metrics(M);
}

Expected<std::unique_ptr<BoundTask>> PosetRL::prepare(const BoundSpec &Spec, measure::Measurer &Target) {
  Expected<PosetRLParameters> Parameters = PosetRLParameters::read(Spec);
  if (!Parameters)
    return Unexpected(Parameters.error());
  std::unique_ptr<PosetRL> Task(new PosetRL(std::move(*Parameters), Target));
  for (size_t Index = 0; Index < Task->Actions.size(); ++Index)
    if (!Task->Actions[Index].isStop())
      Task->Sequences.push_back(Index);
  return Task;
}

Expected<void> PosetRL::prepareAll() {
  return readVocabulary().and_then([&] { return Actions.prepareAll(); });
}

Expected<void> PosetRL::readVocabulary() {
  return Vocabulary::shared().and_then([&](const Vocabulary *Seeds) {
    Observer = ModuleObserver(Seeds, Parameters.Observation);
    return Parameters.check(*Seeds);
  });
}

/// Without always-inline a function that must be inlined stays out of line, and the program looks smaller than it is.
void PosetRL::begin(Module &M) { Runner.run(Parameters.StartFromOz ? Level::Oz.Pipeline : "always-inline", M); }

Expected<void> PosetRL::take(size_t Answer, Module &M) {
  begin(M);
  return Actions.apply(Sequences[Answer], M).map([](bool) {});
}

Expected<EndReason> PosetRL::run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) {
  if (PosetRLObservation::embeds(Policy, comparesModules()))
    if (auto Read = readVocabulary(); !Read)
      return Unexpected(Read.error());
  return Episode(*this, M, Policy, Request).run();
}

const TaskRegistration Registration("posetrl", Level::Oz.Pipeline, &PosetRL::prepare, &replaceOptimizations, Guard::Pipeline);

} // namespace

} // namespace mlcb
