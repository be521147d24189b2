// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Episode.h"

#include "spec/Tasks.h"
#include "llvm/pipeline/Level.h"
#include "llvm/task/Baselines.h"
#include "llvm/task/Metrics.h"
#include "llvm/tasks/inliner/Advisor.h"
#include "llvm/tasks/inliner/Deploy.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

using inliner::Metric;

Inliner::Inliner(InlinerParameters Given, measure::Measurer &Target)
    : Parameters(std::move(Given)), Target(Target), Asking(Target.targetMachine()), Heuristic(Target.targetMachine()) {}

Expected<std::unique_ptr<BoundTask>> Inliner::prepare(const BoundSpec &Spec, measure::Measurer &Target) {
  Expected<InlinerParameters> Parameters = InlinerParameters::read(Spec);
  if (!Parameters)
    return Unexpected(Parameters.error());
  auto Task = std::make_unique<Inliner>(std::move(*Parameters), Target);
  Expected<ModulePassManager> Passes = Task->Asking.parse({{}, Task->Parameters.Pipeline});
  if (!Passes)
    return fail(ErrorKind::InvalidArgument, "inliner/pipeline: " + Passes.error().Message);
  Task->Parsed = std::move(*Passes);
  return Task;
}

Expected<EndReason> Inliner::run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) {
  if (auto Measured = baselines(M, Policy, Request); !Measured)
    return Unexpected(Measured.error());
  auto Measure = [&] { return fillMetrics<Metric>(Policy, M, Target); };
  auto Talk = std::make_shared<InlineConversation>(M, Parameters, Policy, Request, Measure);
  {
    CurrentActivity Now(Parameters.Pipeline);
    InlineAdvisorScope Scope(Asking.modules(), [&](Module &) { return Talk; });
    const Stage S{{}, Parameters.Pipeline};
    ModulePassManager Once = Parsed ? std::move(*Parsed) : std::move(*Asking.parse(S));
    Parsed.reset();
    Asking.run(std::move(Once), S, M);
  }
  return Talk->finish([&] { return Talk->verify("the inliner").and_then(Measure); });
}

Expected<void> Inliner::baselines(const Module &Loaded, ModelRunner &Policy, const EpisodeRequest &Request) {
  BaselineMeter Meter(Heuristic, Target, Request.Cache, Request.Program);
  return writeBaselines<Metric>(Policy, Meter, Parameters.Pipeline, Loaded);
}

static const TaskRegistration Registration("inliner", Level::Oz.Pipeline, &Inliner::prepare, &adviseHostInliner, Guard::Pipeline);

} // namespace mlcb
