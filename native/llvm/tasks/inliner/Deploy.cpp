// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Deploy.h"

#include "llvm/deploy/ModuleGuard.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/pipeline/DefaultPipeline.h"
#include "llvm/tasks/inliner/Advisor.h"
#include "llvm/tasks/inliner/Episode.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

/// A policy at work in the host's inliner, from the advisor's beginning to its end.
class HostQuestions {
public:
  HostQuestions(Module &M, InlinerParameters Given, std::unique_ptr<ModelRunner> Policy)
      : M(M), Parameters(std::move(Given)), Policy(std::move(Policy)), Questions(Parameters, *this->Policy, nullptr) {}

  ~HostQuestions() {
    if (Questions.failure())
      refuse(M, *Questions.failure());
  }

  InlineConversation &questions() { return Questions; }

private:
  Module &M;
  InlinerParameters Parameters;
  std::unique_ptr<ModelRunner> Policy;
  InlineConversation Questions;
};

/// The policy of the command line for a module; null where there is none, or it is `default:`.
Expected<std::shared_ptr<HostQuestions>> openHost(const TaskRegistration &Task, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Policy = deciderInHost(Task);
  if (!Policy)
    return Unexpected(Policy.error());
  if (!*Policy)
    return nullptr;
  Expected<InlinerParameters> Parameters = InlinerParameters::read((*Policy)->spec());
  if (!Parameters)
    return Unexpected(Parameters.error());
  return std::make_shared<HostQuestions>(M, std::move(*Parameters), std::move(*Policy));
}

/// Whether the policy makes the smaller object of a module, in this pipeline.
Expected<bool> isSmaller(const TaskRegistration &Task, StringRef Pipeline, Module &M) {
  Expected<std::unique_ptr<ModelRunner>> Policy = deciderFor(Task);
  if (!Policy)
    return Unexpected(Policy.error());
  if (!*Policy)
    return false;
  if (auto Allowed = mayBeGuarded(**Policy); !Allowed)
    return Unexpected(Allowed.error());
  Expected<InlinerParameters> Parameters = InlinerParameters::read((*Policy)->spec());
  if (!Parameters)
    return Unexpected(Parameters.error());
  auto Target = measurerFor(M);
  if (!Target)
    return Unexpected(Target.error());
  Parameters->Pipeline = Pipeline;
  auto RunPolicy = [&] { return Inliner(std::move(*Parameters), **Target).run(M, **Policy, {}).map([](EndReason) {}); };
  Verdict V = compare(M, **Target, RunPolicy, Pipeline);
  remark(V, Pipeline, M);
  return V.isForPolicy();
}

/// Decides at the start of the host's pipeline who answers in it.
class GuardPass : public PassInfoMixin<GuardPass> {
public:
  GuardPass(const TaskRegistration &Task, std::string Pipeline, std::shared_ptr<bool> AsksPolicy)
      : Task(Task), Pipeline(std::move(Pipeline)), AsksPolicy(std::move(AsksPolicy)) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Expected<bool> Smaller = isSmaller(Task, Pipeline, M);
    *AsksPolicy = Smaller && *Smaller;
    if (!Smaller)
      refuse(M, Smaller.error());
    return PreservedAnalyses::all();
  }

private:
  const TaskRegistration &Task;
  std::string Pipeline;
  std::shared_ptr<bool> AsksPolicy;
};

} // namespace

void adviseHostInliner(const TaskRegistration &Task, PassBuilder &Builder) {
  auto AsksPolicy = std::make_shared<bool>(true);
  Builder.registerAnalysisRegistrationCallback([&Task, AsksPolicy](ModuleAnalysisManager &Modules) {
    adviseHost(Modules, [&Task, AsksPolicy](Module &M) { return *AsksPolicy ? questionsOf(openHost(Task, M), M) : nullptr; });
  });
  Builder.registerPipelineStartEPCallback([&Task, AsksPolicy](ModulePassManager &Passes, OptimizationLevel Level) {
    if (isGuarded() && Level != OptimizationLevel::O0)
      Passes.addPass(GuardPass(Task, defaultPipeline(Level.getSpeedupLevel(), Level.getSizeLevel()), AsksPolicy));
  });
}

} // namespace mlcb
