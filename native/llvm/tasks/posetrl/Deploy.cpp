// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/posetrl/Deploy.h"

#include "llvm/deploy/PolicySet.h"
#include "llvm/pipeline/DefaultPipeline.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

/// A policy for the order of passes in the place of the pipeline that it stands at the start of.
class PipelinePass : public PassInfoMixin<PipelinePass> {
public:
  /// Skip is set where no optional pass may run afterwards.
  PipelinePass(const TaskRegistration &Task, std::string Pipeline, std::shared_ptr<bool> Skip)
      : Task(Task), Pipeline(std::move(Pipeline)), Skip(std::move(Skip)) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Expected<Decider> Who = decide(Task, Pipeline, M);
    *Skip = !Who || *Who == Decider::Policy;
    if (!Who)
      refuse(M, Who.error());
    return PreservedAnalyses::none();
  }

private:
  const TaskRegistration &Task;
  std::string Pipeline;
  std::shared_ptr<bool> Skip;
};

} // namespace

void replacePipeline(const TaskRegistration &Task, PassBuilder &Builder) {
  auto Skip = std::make_shared<bool>(false);
  if (auto *Callbacks = Builder.getPassInstrumentationCallbacks())
    Callbacks->registerShouldRunOptionalPassCallback([Skip](StringRef, Any) { return !*Skip; });
  Builder.registerPipelineStartEPCallback([&Task, Skip](ModulePassManager &Passes, OptimizationLevel Level) {
    if (Level != OptimizationLevel::O0)
      Passes.addPass(PipelinePass(Task, defaultPipeline(Level.getSpeedupLevel(), Level.getSizeLevel()), Skip));
  });
}

} // namespace mlcb
