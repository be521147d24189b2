// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The task function_size: a policy chooses the attributes that the code of each function is generated with, after all passes.
#include "spec/Tasks.h"
#include "llvm/pipeline/Level.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/Baselines.h"
#include "llvm/task/Metrics.h"
#include "llvm/tasks/function_size/Conversation.h"
#include "llvm/tasks/function_size/Deploy.h"
#include "llvm/tasks/function_size/Parameters.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb {

namespace {

using function_size::Metric;

class FunctionSize final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target) {
    Expected<FunctionSizeParameters> Parameters = FunctionSizeParameters::read(Spec);
    if (!Parameters)
      return Unexpected(Parameters.error());
    auto Changed = measurerWithout(Parameters->Without, Target);
    if (!Changed)
      return Unexpected(Changed.error());
    auto Task = std::make_unique<FunctionSize>(std::move(*Parameters), Target, std::move(*Changed));
    if (auto Passes = Task->Runner.parse({{}, Task->Parameters.Pipeline}); !Passes)
      return fail(ErrorKind::InvalidArgument, "function_size/pipeline: " + Passes.error().Message);
    return Task;
  }

  FunctionSize(FunctionSizeParameters Given, measure::Measurer &Target, std::unique_ptr<measure::Measurer> Changed)
      : Parameters(std::move(Given)), Target(Target), Changed(std::move(Changed)), Runner(Target.targetMachine()) {}

  Expected<EndReason> run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override {
    BaselineMeter Meter(Runner, Target, Request.Cache, Request.Program);
    if (auto Measured = writeBaselines<Metric>(Policy, Meter, Parameters.Pipeline, M); !Measured)
      return Unexpected(Measured.error());
    if (Policy.wants(Metric::weighted_default)) {
      const Baseline Own = Meter.after(Parameters.Pipeline, M);
      Policy.metric<double>(Metric::weighted_default) = weighted(Own.Size, Own.Text);
    }
    {
      CurrentActivity Now(Parameters.Pipeline);
      Runner.run(Parameters.Pipeline, M);
    }
    auto Measure = [&] { return measure(M, Policy); };
    FunctionConversation Talk(M, Parameters.Actions, Policy, Request, Measure);
    Talk.decide();
    return Talk.finish([&] { return Talk.verify("the policy").and_then(Measure); });
  }

private:
  /// One whose code generation is set up while the options hold; null where there are none.
  static Expected<std::unique_ptr<measure::Measurer>> measurerWithout(ArrayRef<OptionSetting> Without, measure::Measurer &Target) {
    if (Without.empty())
      return nullptr;
    if (auto Valid = checkOptions(Without); !Valid)
      return fail(ErrorKind::InvalidArgument, "function_size/without: " + Valid.error().Message);
    const OptionScope Now(Without);
    const TargetMachine &Machine = Target.targetMachine();
    auto Made = measure::Measurer::create(Machine.getTargetTriple(), Machine.getTargetCPU());
    if (!Made)
      return fail(ErrorKind::InvalidArgument, toString(Made.takeError()));
    return std::move(*Made);
  }

  Expected<void> measure(const Module &M, ModelRunner &Policy) {
    measure::Measurer &Own = Changed ? *Changed : Target;
    if (Policy.wants(Metric::weighted)) {
      const measure::Size Size = Own.size(M);
      Policy.metric<double>(Metric::weighted) = weighted(Size.Allocated, Size.Text);
    }
    return fillMetrics<Metric>(Policy, M, Own);
  }

  double weighted(double Size, double Text) const { return Size + Parameters.TextWeight * Text; }

  FunctionSizeParameters Parameters;
  measure::Measurer &Target;
  std::unique_ptr<measure::Measurer> Changed; // of code without some optimizations; null where it has them all
  PassRunner Runner;
};

const TaskRegistration Registration("function_size", Level::Oz.Pipeline, &FunctionSize::prepare, &decideAtPipelineEnd, Guard::Code);

} // namespace

} // namespace mlcb
