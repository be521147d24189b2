// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/PipelineStart.h"

#include "llvm/pipeline/Level.h"

#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

class StartPass : public PassInfoMixin<StartPass> {
public:
  StartPass(AtPipelineStart Run, StringRef Pipeline) : Run(std::move(Run)), Pipeline(Pipeline) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) { return Run(M, Pipeline) ? PreservedAnalyses::none() : PreservedAnalyses::all(); }

private:
  AtPipelineStart Run;
  StringRef Pipeline;
};

} // namespace

void runAtPipelineStart(PassBuilder &Builder, AtPipelineStart Run) {
  Builder.registerPipelineStartEPCallback([Run = std::move(Run)](ModulePassManager &Passes, OptimizationLevel Built) {
    if (Built != OptimizationLevel::O0)
      Passes.addPass(StartPass(Run, Level::of(Built).Pipeline));
  });
}

} // namespace mlcb
