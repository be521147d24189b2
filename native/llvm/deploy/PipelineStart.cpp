// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/PipelineStart.h"

#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

class StartPass : public PassInfoMixin<StartPass> {
public:
  StartPass(AtPipelineStart Run, const Level &At) : Run(std::move(Run)), At(At) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) { return Run(M, At) ? PreservedAnalyses::none() : PreservedAnalyses::all(); }

private:
  AtPipelineStart Run;
  const Level &At;
};

} // namespace

void runAtPipelineStart(PassBuilder &Builder, AtPipelineStart Run) {
  Builder.registerPipelineStartEPCallback([Run = std::move(Run)](ModulePassManager &Passes, OptimizationLevel Built) {
    if (Built != OptimizationLevel::O0)
      Passes.addPass(StartPass(Run, Level::of(Built)));
  });
}

} // namespace mlcb
