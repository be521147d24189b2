// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tasks function_size and function_posetrl: a policy chooses the attributes that the code of each function is generated with, and passes over it.
#include "spec/Tasks.h"
#include "llvm/pipeline/Level.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/Baselines.h"
#include "llvm/task/Metrics.h"
#include "llvm/task/Parameters.h"
#include "llvm/tasks/function_size/Conversation.h"
#include "llvm/tasks/function_size/Deploy.h"
#include "llvm/tasks/function_size/Parameters.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb {

namespace {

using function_size::Metric;

static_assert(static_cast<int>(Metric::weighted_default) == static_cast<int>(function_posetrl::Metric::weighted_default));
static_assert(static_cast<int>(function_size::advisor::action_mask) == static_cast<int>(function_posetrl::advisor::action_mask));

/// The pipeline without a policy.
enum class Default { Own, Heuristic };

class FunctionSize final : public BoundTask {
public:
  template <Default Compared> static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target) {
    const TaskRegistration &Registered = *TaskRegistration::find(Spec.Task.Name);
    Expected<FunctionSizeParameters> Parameters = FunctionSizeParameters::read(Spec);
    if (!Parameters)
      return Unexpected(Parameters.error());
    auto Changed = measurerWithout(Parameters->Without, Target);
    if (!Changed)
      return invalidParameter(Spec, "without: " + Changed.error().Message);
    if (Compared == Default::Own && !Parameters->Actions.front().isKeep())
      return invalidParameter(Spec, "actions: '" + Parameters->Actions.front().Text + "' first, expected 'keep'");
    const std::string Baseline = Compared == Default::Own ? Parameters->Pipeline : Registered.heuristic().str();
    auto Task = std::make_unique<FunctionSize>(std::move(*Parameters), Baseline, Target, std::move(*Changed));
    if (auto Passes = Task->Runner.parse({{}, Task->Pipeline}); !Passes)
      return invalidParameter(Spec, "pipeline: " + Passes.error().Message);
    return Task;
  }

  FunctionSize(FunctionSizeParameters Given, std::string Baseline, measure::Measurer &Target, std::unique_ptr<measure::Measurer> Changed)
      : Pipeline(std::move(Given.Pipeline)), Baseline(std::move(Baseline)), TextWeight(Given.TextWeight), Target(Target), Changed(std::move(Changed)),
        Runner(Target.targetMachine()), Actions(std::move(Given.Actions), &Runner) {}

  Expected<void> prepareAll() override { return Actions.prepareAll(); }

  Expected<EndReason> run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override {
    BaselineMeter Meter(Runner, Target, Request.Cache, Request.Program);
    if (auto Measured = writeBaselines<Metric>(Policy, Meter, Baseline, M); !Measured)
      return Unexpected(Measured.error());
    if (Policy.wants(Metric::weighted_default)) {
      const mlcb::Baseline Own = Meter.after(Baseline, M);
      Policy.metric<double>(Metric::weighted_default) = weighted(Own.Size, Own.Text);
    }
    {
      CurrentActivity Now(Pipeline);
      Runner.run(Pipeline, M);
    }
    auto Measure = [&] { return measure(M, Policy); };
    FunctionConversation Talk(M, Actions, Policy, Request, Measure);
    Talk.decide();
    Actions.finish(M);
    if (Actions.havePasses())
      Runner.run("rel-lookup-table-converter", M); // as -Oz ends; a host has it behind the policy
    return Talk.finish([&] { return Talk.verify("the policy").and_then(Measure); });
  }

private:
  /// One whose code generation is set up while the options hold; null where there are none.
  static Expected<std::unique_ptr<measure::Measurer>> measurerWithout(ArrayRef<OptionSetting> Without, measure::Measurer &Target) {
    if (Without.empty())
      return nullptr;
    if (auto Valid = checkOptions(Without); !Valid)
      return Unexpected(Valid.error());
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

  double weighted(double Size, double Text) const { return Size + TextWeight * Text; }

  std::string Pipeline, Baseline;
  double TextWeight;
  measure::Measurer &Target;
  std::unique_ptr<measure::Measurer> Changed; // of code without some optimizations; null where it has them all
  PassRunner Runner;
  FunctionActions Actions;
};

// In this order, so that where both decide in one place, the second one is asked first.
const TaskRegistration OfAttributes("function_size", Level::Oz.Pipeline, &FunctionSize::prepare<Default::Own>, &decideAtPipelineEnd, Guard::Code);
const TaskRegistration OfPasses("function_posetrl", Level::Oz.Pipeline, &FunctionSize::prepare<Default::Heuristic>, &decideInPlaceOfOptimizations,
                                Guard::Pipeline);

} // namespace

} // namespace mlcb
