// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The task function_size: a policy chooses the attributes that the code of each function is generated with, after all passes.
#include "spec/Tasks.h"
#include "llvm/deploy/Hosted.h"
#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/pipeline/Level.h"
#include "llvm/pipeline/PassRunner.h"
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/ActionMask.h"
#include "llvm/task/Baselines.h"
#include "llvm/task/Conversation.h"
#include "llvm/task/Metrics.h"
#include "llvm/task/Parameters.h"
#include "llvm/tasks/function_size/AttributeChange.h"
#include "llvm/tasks/function_size/Observation.h"
#include "llvm/tasks/function_size/TailCalls.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

namespace {

using Feature = function_size::advisor;
using function_size::Metric;

struct FunctionSizeParameters {
  std::string Pipeline;
  std::vector<AttributeChange> Actions;

  static Expected<FunctionSizeParameters> read(const BoundSpec &Spec) {
    ParameterReader From(Spec);
    FunctionSizeParameters Read{From.pipeline("a pipeline"), {}};
    for (const std::string &Text : From.texts("actions", "changes of attributes")) {
      Expected<AttributeChange> Change = AttributeChange::parse(Text);
      if (!Change)
        return Unexpected(Change.error());
      Read.Actions.push_back(std::move(*Change));
    }
    if (!Read.Actions.empty() && !Read.Actions.front().isKeep())
      From.reject("actions: '" + Read.Actions.front().Text + "' first, expected 'keep'");
    return From.result(std::move(Read));
  }
};

/// The questions about the functions of one module, which all passes have been over.
class FunctionConversation final : public Conversation {
public:
  FunctionConversation(Module &M, std::vector<AttributeChange> Actions, ModelRunner &Policy, const EpisodeRequest &Request,
                       Measurement Measure = nullptr)
      : Conversation(M, Policy, Request, std::move(Measure)), Actions(std::move(Actions)), Forbidden(Request.Forbidden) {}

  /// Asks about every function that is to be small and has a choice. After a failure the others stay as they are.
  void decide() {
    for (const Function &F : module())
      Totals.Functions += !F.isDeclarationForLinker();
    Totals.Instructions = module().getInstructionCount();
    for (Function &F : module())
      if (isOpen(F) && !failure())
        decide(F);
  }

private:
  /// What there is to gain is in the unwind table.
  static bool isOpen(const Function &F) {
    return !F.isDeclarationForLinker() && F.hasMinSize() && F.needsUnwindTableEntry() && !F.hasOptNone() && !F.hasFnAttribute(Attribute::Naked) &&
           F.getCallingConv() != CallingConv::GHC && F.getCallingConv() != CallingConv::HiPE;
  }

  void decide(Function &F) {
    ActionMask Mask(Actions.size(), Forbidden);
    bool IsChoice = false;
    for (size_t Index = 0; Index < Actions.size(); ++Index)
      if (Actions[Index].isKeep() || isAllowed(Actions[Index], F))
        IsChoice |= Index > 0;
      else
        Mask.forbid(Index);
    if (!IsChoice || !Mask.allowsAny())
      return;
    observeFunction(policy(), F, Totals);
    policy().tensor<int64_t>(Feature::action_default)[0] = 0;
    Mask.write(policy().tensor<int8_t>(Feature::action_mask));
    if (const Expected<size_t> Chosen = ask<size_t>())
      Actions[*Chosen].apply(F);
  }

  bool isAllowed(const AttributeChange &Change, const Function &F) {
    return Change.changes(F) && (!Change.KeepsFramePointer || !hasInlineAssembly(F)) && (!Change.EndsTailCalls || Chains.end(F));
  }

  std::vector<AttributeChange> Actions;
  std::vector<int64_t> Forbidden;
  TailChains Chains;
  ModuleTotals Totals;
};

class FunctionSize final : public BoundTask {
public:
  static Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target) {
    Expected<FunctionSizeParameters> Parameters = FunctionSizeParameters::read(Spec);
    if (!Parameters)
      return Unexpected(Parameters.error());
    auto Task = std::make_unique<FunctionSize>(std::move(*Parameters), Target);
    if (auto Passes = Task->Runner.parse({{}, Task->Parameters.Pipeline}); !Passes)
      return fail(ErrorKind::InvalidArgument, "function_size/pipeline: " + Passes.error().Message);
    return Task;
  }

  FunctionSize(FunctionSizeParameters Given, measure::Measurer &Target)
      : Parameters(std::move(Given)), Target(Target), Runner(Target.targetMachine()) {}

  Expected<EndReason> run(Module &M, ModelRunner &Policy, const EpisodeRequest &Request) override {
    BaselineMeter Meter(Runner, Target, Request.Cache, Request.Program);
    if (auto Measured = writeBaselines<Metric>(Policy, Meter, Parameters.Pipeline, M); !Measured)
      return Unexpected(Measured.error());
    if (Policy.wants(Metric::weighted_default)) {
      const Baseline Own = Meter.after(Parameters.Pipeline, M);
      Policy.metric<int64_t>(Metric::weighted_default) = Own.Size + Own.Text;
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
  Expected<void> measure(const Module &M, ModelRunner &Policy) {
    if (Policy.wants(Metric::weighted)) {
      const measure::Size Size = Target.size(M);
      Policy.metric<int64_t>(Metric::weighted) = Size.Allocated + Size.Text;
    }
    return fillMetrics<Metric>(Policy, M, Target);
  }

  FunctionSizeParameters Parameters;
  measure::Measurer &Target;
  PassRunner Runner;
};

void decideAtPipelineEnd(const TaskRegistration &Task, PassBuilder &Builder) {
  runAtPipelineEnd(Builder, [&Task](Module &M, OptimizationLevel Built) {
    if (Built == OptimizationLevel::O0)
      return;
    auto Open = [&](ModelRunner &Policy) {
      return FunctionSizeParameters::read(Policy.spec()).map([&](FunctionSizeParameters Parameters) {
        return std::make_unique<FunctionConversation>(M, std::move(Parameters.Actions), Policy, EpisodeRequest());
      });
    };
    if (auto Talk = host<FunctionConversation>(M, PolicySet::ofCommandLine().deciderInHost(Task), Open))
      Talk->decide();
  });
}

const TaskRegistration Registration("function_size", Level::Oz.Pipeline, &FunctionSize::prepare, &decideAtPipelineEnd, Guard::Module);

} // namespace

} // namespace mlcb
