// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A task whose policy decides on a module before the compiler's own pipeline runs.
#pragma once

#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/task/Baselines.h"
#include "llvm/task/Conversation.h"
#include "llvm/task/Metrics.h"

#include "llvm/IR/Module.h"

namespace mlcb {

/// The episode and the deployment of such a task; the task itself is ConversationT, a Conversation whose decide() asks and acts on the answers.
/// Metric is the enum of a task that includes tasks/CodeMetrics.inc.
template <class ConversationT, class Metric> class BeforePipeline final : public BoundTask {
public:
  /// For TaskRegistration, whose heuristic is the pipeline.
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target) {
    const TaskRegistration &Task = *TaskRegistration::find(Spec.Task.Name);
    return std::make_unique<BeforePipeline>(Task.heuristic(), Target);
  }

  /// For TaskRegistration: the policy decides at the start of every pipeline of the host but that of -O0.
  static void deploy(const TaskRegistration &Task, llvm::PassBuilder &Builder) {
    runAtPipelineStart(Builder, [&Task](llvm::Module &M, const HostPipeline &) {
      auto Open = [&](ModelRunner &Policy) -> Expected<std::unique_ptr<ConversationT>> {
        return std::make_unique<ConversationT>(M, Policy, EpisodeRequest());
      };
      auto Talk = host<ConversationT>(M, PolicySet::ofCommandLine().deciderInHost(Task, M), Open);
      if (Talk)
        Talk->decide();
      return Talk != nullptr;
    });
  }

  BeforePipeline(llvm::StringRef Pipeline, measure::Measurer &Target) : Pipeline(Pipeline), Target(Target), Runner(Target.targetMachine()) {}

  Expected<EndReason> run(llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override {
    BaselineMeter Meter(Runner, Target, Request.Cache, Request.Program);
    if (auto Measured = writeBaselines<Metric>(Policy, Meter, Pipeline, M); !Measured)
      return Unexpected(Measured.error());
    auto Measure = [&] { return fillMetrics<Metric>(Policy, M, Target); };
    ConversationT Talk(M, Policy, Request, Measure);
    {
      CurrentActivity Now(Pipeline);
      Talk.decide();
      Runner.run(Pipeline, M);
    }
    return Talk.finish([&] { return Talk.verify("the policy").and_then(Measure); });
  }

private:
  llvm::StringRef Pipeline;
  measure::Measurer &Target;
  PassRunner Runner;
};

} // namespace mlcb
