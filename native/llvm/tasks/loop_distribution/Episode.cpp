// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/loop_distribution/Episode.h"

#include "llvm/loops/LoopDistributionPass.h"
#include "llvm/measure/LoopCost.h"
#include "llvm/pipeline/OptSize.h"
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/Baselines.h"
#include "llvm/task/InterleavedTiming.h"
#include "llvm/task/Metrics.h"
#include "llvm/task/Parameters.h"
#include "llvm/tasks/loop_distribution/Deploy.h"
#include "spec/Tasks.h"

#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <cmath>

using namespace llvm;

namespace mlcb {

using loop_distribution::Metric;

static bool wantsTime(const ModelRunner &Policy) { return Policy.wants(Metric::seconds) || Policy.wants(Metric::seconds_default); }

static void tellSeconds(ModelRunner &Policy, double Default, double Own) {
  Policy.metric<double>(Metric::seconds_default) = Default;
  Policy.metric<double>(Metric::seconds) = Own;
}

static Expected<void> tellTime(const Module &M, ModelRunner &Policy, InterleavedTiming *Timing) {
  if (!Timing) {
    tellSeconds(Policy, NAN, NAN);
    return {};
  }
  if (auto Entered = Timing->enter(CloneModule(M)); !Entered)
    return Entered;
  return Timing->run().map([&](const std::vector<double> &Least) { tellSeconds(Policy, Least.front(), Least.back()); });
}

LoopDistribution::LoopDistribution(LoopDistributionParameters Given, measure::Measurer &Target)
    : Parameters(std::move(Given)), Target(Target),
      Asking(Target.targetMachine(),
             [this](PassBuilder &Builder) { askBeforeVectorizer(Builder, [this](Function &) { return Questions; }); }),
      Heuristic(Target.targetMachine()) {}

Expected<std::unique_ptr<BoundTask>> LoopDistribution::prepare(const BoundSpec &Spec, measure::Measurer &Target) {
  Expected<LoopDistributionParameters> Parameters = LoopDistributionParameters::read(Spec);
  if (!Parameters)
    return Unexpected(Parameters.error());
  if (Spec.Task.Agents.front().Advice.Choices.Size != loops::MaxNodes)
    return fail(ErrorKind::SystemError,
                "loop_distribution: declared for other than " + std::to_string(loops::MaxNodes) + " nodes");
  auto Task = std::make_unique<LoopDistribution>(std::move(*Parameters), Target);
  if (Expected<ModulePassManager> Passes = Task->Asking.parse({{}, Task->Parameters.Pipeline}); !Passes)
    return invalidParameter(Spec, "pipeline: " + Passes.error().Message);
  return Task;
}

Expected<EndReason> LoopDistribution::run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) {
  if (!Parameters.KeepsOptSize)
    optimizeForSpeed(M);
  if (auto Measured = baselines(M, Policy, Request); !Measured)
    return Unexpected(Measured.error());
  WorkClock Work;
  LoopConversation Asked(
      Parameters.Seeds, Policy, Request.Barred, [&] { endTurn<Metric>(Policy, Work); },
      [&] { beginTurn(Policy, Work); });
  {
    CurrentActivity Now(Parameters.Pipeline);
    Questions = &Asked;
    Asking.run(Parameters.Pipeline, M);
    Questions = nullptr;
  }
  Work.pause();
  if (Asked.failure())
    return Unexpected(*Asked.failure());
  if (Request.Verify && verifyModule(M))
    return fail(ErrorKind::SystemError, "splitting loops leaves a module that LLVM's verifier refuses");
  Policy.metric<int64_t>(Metric::loops) = Asked.loops();
  Policy.metric<int64_t>(Metric::parts) = Asked.parts();
  if (auto Measured = measure(M, Policy, Request); !Measured)
    return Unexpected(Measured.error());
  Policy.metric<double>(Metric::llvm_seconds) = Work.seconds();
  const EndReason Why = Asked.asked() == 0 ? EndReason::NoDecisions : EndReason::Exhausted;
  return Policy.end(Why).map([Why] { return Why; });
}

Expected<void> LoopDistribution::baselines(const Module &Loaded, ModelRunner &Policy, const EpisodeRequest &Request) {
  // The program that is known is the one with its attributes.
  const std::string Program =
      Request.Program.empty() || Parameters.KeepsOptSize ? Request.Program : Request.Program + " for speed";
  if (wantsTime(Policy) && Request.Timing)
    if (auto Entered = enterDefault(Loaded, *Request.Timing); !Entered)
      return Entered;
  BaselineMeter Meter(Heuristic, Target, Request.Cache, Program);
  if (Policy.wants(Metric::cost_default))
    Policy.metric<double>(Metric::cost_default) = Meter.loopCostAfter(Parameters.Pipeline, Loaded);
  return tellBaselines<Metric>(Policy, Meter, Parameters.Pipeline, Loaded);
}

/// Runs first what no policy is to blame for.
Expected<void> LoopDistribution::enterDefault(const Module &Loaded, InterleavedTiming &Timing) {
  std::unique_ptr<Module> Default = CloneModule(Loaded);
  Heuristic.run(Parameters.Pipeline, *Default);
  return Timing.enter(std::move(Default));
}

Expected<void> LoopDistribution::measure(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) {
  if (Policy.wants(Metric::cost))
    Policy.metric<double>(Metric::cost) = measure::loopCost(M, Target.targetMachine());
  if (wantsTime(Policy))
    if (auto Told = tellTime(M, Policy, Request.Timing); !Told)
      return Told;
  return fillMetrics<Metric>(Policy, M, Target);
}

static const TaskRegistration Registration("loop_distribution", "default<O3>", &LoopDistribution::prepare, &splitHost);

} // namespace mlcb
