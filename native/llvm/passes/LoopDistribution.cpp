// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/LoopDistribution.h"

#include "spec/Tasks.h"
#include "llvm/measure/LoopCost.h"
#include "llvm/passes/Activity.h"
#include "llvm/passes/Baselines.h"
#include "llvm/passes/LoopDistributionPass.h"
#include "llvm/passes/Metrics.h"
#include "llvm/passes/OptSize.h"
#include "llvm/passes/Parameters.h"
#include "llvm/passes/SplitHost.h"

#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace mlcb {

using loop_distribution::Metric;

LoopDistribution::LoopDistribution(LoopDistributionParameters Given, measure::Measurer &Target)
    : Parameters(std::move(Given)), Target(Target),
      Asking(Target.targetMachine(),
             [this](PassBuilder &Builder) { askBeforeVectorizer(Builder, [this](Function &) { return Questions; }); }),
      Heuristic(Target.targetMachine()) {}

Expected<std::unique_ptr<TaskPass>> LoopDistribution::prepare(const BoundSpec &Spec, measure::Measurer &Target) {
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
  LoopQuestions Asked(
      Parameters.Seeds, Policy, Request.Barred, [&] { endTurn<Metric>(Policy, Work); },
      [&] { beginTurn(Policy, Work); });
  {
    Activity Now(Parameters.Pipeline);
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
  if (Policy.wants(Metric::cost))
    Policy.metric<double>(Metric::cost) = measure::loopCost(M, Target.targetMachine());
  if (auto Measured = fillMetrics<Metric>(Policy, M, Target); !Measured)
    return Unexpected(Measured.error());
  Policy.metric<double>(Metric::llvm_seconds) = Work.seconds();
  const EndReason Why = Asked.asked() == 0 ? EndReason::NoDecisions : EndReason::Exhausted;
  return Policy.end(Why).map([Why] { return Why; });
}

Expected<void> LoopDistribution::baselines(const Module &Loaded, ModelRunner &Policy, const EpisodeRequest &Request) {
  // The program that is known is the one with its attributes.
  const std::string Program =
      Request.Program.empty() || Parameters.KeepsOptSize ? Request.Program : Request.Program + " for speed";
  BaselineMeter Meter(Heuristic, Target, Request.Cache, Program);
  if (Policy.wants(Metric::cost_default))
    Policy.metric<double>(Metric::cost_default) = Meter.loopCostAfter(Parameters.Pipeline, Loaded);
  return tellBaselines<Metric>(Policy, Meter, Parameters.Pipeline, Loaded);
}

static const TaskRegistration Registration("loop_distribution", "default<O3>", &LoopDistribution::prepare, &splitHost);

} // namespace mlcb
