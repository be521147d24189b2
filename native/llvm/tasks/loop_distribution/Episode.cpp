// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LoopDistribution: an episode of a pipeline whose vectorizer is preceded by a policy.
#include "spec/Tasks.h"
#include "llvm/loops/LoopDistributionPass.h"
#include "llvm/measure/LoopCost.h"
#include "llvm/measure/Measure.h"
#include "llvm/pipeline/Level.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/Baselines.h"
#include "llvm/task/InterleavedTiming.h"
#include "llvm/task/Metrics.h"
#include "llvm/task/Parameters.h"
#include "llvm/task/TaskRegistration.h"
#include "llvm/tasks/loop_distribution/Conversation.h"
#include "llvm/tasks/loop_distribution/Deploy.h"
#include "llvm/tasks/loop_distribution/Parameters.h"

#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <utility>

using namespace llvm;

namespace mlcb {

namespace {

/// The task bound to its parameters: a pipeline that asks before its vectorizer.
class LoopDistribution final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target);

  LoopDistribution(LoopDistributionParameters Parameters, measure::Measurer &Target);

  Expected<EndReason> run(llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override;

private:
  Expected<void> baselines(const llvm::Module &Loaded, ModelRunner &Policy, const EpisodeRequest &Request);
  Expected<void> enterDefault(const llvm::Module &Loaded, InterleavedTiming &Timing);
  Expected<void> measure(llvm::Module &M, LoopConversation &Asked, const EpisodeRequest &Request);

  LoopDistributionParameters Parameters;
  measure::Measurer &Target;
  LoopConversation *Talk = nullptr; // of the episode that runs
  PassRunner Asking, Heuristic;
};

} // namespace

using loop_distribution::Metric;

static constexpr auto CodeLevel = CodeGenOptLevel::Aggressive; // that of clang -O3

static Expected<void> measureTime(const Module &M, ModelRunner &Policy, InterleavedTiming *Timing) {
  if (Timing)
    if (auto Entered = Timing->enter(CloneModule(M), CodeLevel); !Entered)
      return Entered;
  return writeTime<Metric>(Policy, Timing);
}

LoopDistribution::LoopDistribution(LoopDistributionParameters Given, measure::Measurer &Target)
    : Parameters(std::move(Given)), Target(Target),
      Asking(Target.targetMachine(), [this](PassBuilder &Builder) { askBeforeVectorizer(Builder, [this](Function &) { return Talk; }); }),
      Heuristic(Target.targetMachine()) {}

Expected<std::unique_ptr<BoundTask>> LoopDistribution::prepare(const BoundSpec &Spec, measure::Measurer &Target) {
  Expected<LoopDistributionParameters> Parameters = LoopDistributionParameters::read(Spec);
  if (!Parameters)
    return Unexpected(Parameters.error());
  if (std::cmp_not_equal(Spec.Task.Agents.front().Advice.Choices.Size, loops::MaxNodes))
    return fail(ErrorKind::InvalidArgument, "loop_distribution: declared for other than " + std::to_string(loops::MaxNodes) + " nodes");
  auto Task = std::make_unique<LoopDistribution>(std::move(*Parameters), Target);
  if (Expected<ModulePassManager> Passes = Task->Asking.parse({{}, Task->Parameters.Pipeline}); !Passes)
    return invalidParameter(Spec, "pipeline: " + Passes.error().Message);
  return Task;
}

Expected<EndReason> LoopDistribution::run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) {
  if (!Parameters.KeepsOptSize)
    Level::O3.setAttributes(M);
  if (auto Measured = baselines(M, Policy, Request); !Measured)
    return Unexpected(Measured.error());
  LoopConversation Asked(M, Parameters.Seeds, Policy, Request);
  {
    CurrentActivity Now(Parameters.Pipeline);
    Talk = &Asked;
    Asking.run(Parameters.Pipeline, M);
    Talk = nullptr;
  }
  return Asked.finish([&] { return Asked.verify("loop distribution").and_then([&] { return measure(M, Asked, Request); }); });
}

Expected<void> LoopDistribution::baselines(const Module &Loaded, ModelRunner &Policy, const EpisodeRequest &Request) {
  // The program that is known is the one with its attributes.
  const std::string Program = Request.Program.empty() || Parameters.KeepsOptSize ? Request.Program : Request.Program + " for speed";
  if (wantsTime<Metric>(Policy) && Request.Timing)
    if (auto Entered = enterDefault(Loaded, *Request.Timing); !Entered)
      return Entered;
  BaselineMeter Meter(Heuristic, Target, Request.Cache, Program);
  if (Policy.wants(Metric::cost_default))
    Policy.metric<double>(Metric::cost_default) = Meter.loopCostAfter(Parameters.Pipeline, Loaded);
  return writeBaselines<Metric>(Policy, Meter, Parameters.Pipeline, Loaded);
}

/// Runs first what no policy is to blame for.
Expected<void> LoopDistribution::enterDefault(const Module &Loaded, InterleavedTiming &Timing) {
  std::unique_ptr<Module> Default = CloneModule(Loaded);
  Heuristic.run(Parameters.Pipeline, *Default);
  return Timing.enter(std::move(Default), CodeLevel);
}

Expected<void> LoopDistribution::measure(Module &M, LoopConversation &Asked, const EpisodeRequest &Request) {
  ModelRunner &Policy = Asked.policy();
  Policy.metric<int64_t>(Metric::loops) = Asked.loops();
  Policy.metric<int64_t>(Metric::parts) = Asked.parts();
  if (Policy.wants(Metric::cost))
    Policy.metric<double>(Metric::cost) = measure::loopCost(M, Target.targetMachine());
  if (wantsTime<Metric>(Policy))
    if (auto Timed = measureTime(M, Policy, Request.Timing); !Timed)
      return Timed;
  return fillMetrics<Metric>(Policy, M, Target);
}

static const TaskRegistration Registration("loop_distribution", Level::O3.Pipeline, &LoopDistribution::prepare, &distributeHostLoops);

} // namespace mlcb
