// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/PipelineStart.h"

using namespace llvm;

namespace mlcb {

namespace {

class StartPass : public PassInfoMixin<StartPass> {
public:
  StartPass(AtPipelineStart Run, const HostPipeline &Host) : Run(std::move(Run)), Host(Host) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) { return Run(M, Host) ? PreservedAnalyses::none() : PreservedAnalyses::all(); }

private:
  AtPipelineStart Run;
  HostPipeline Host;
};

} // namespace

std::string HostPipeline::text() const {
  StringRef Level = At.Pipeline;
  Level.consume_front("default");
  switch (Phase) {
  case ThinOrFullLTOPhase::FullLTOPostLink: return ("lto" + Level).str();
  case ThinOrFullLTOPhase::ThinLTOPostLink: return ("thinlto" + Level).str();
  default: return At.Pipeline.str();
  }
}

void runAtPipelineStart(PassBuilder &Builder, AtPipelineStart Run) {
  auto Add = [Run = std::move(Run)](ModulePassManager &Passes, OptimizationLevel Built, ThinOrFullLTOPhase Phase) {
    if (Built != OptimizationLevel::O0)
      Passes.addPass(StartPass(Run, {Level::of(Built), Phase}));
  };
  Builder.registerPipelineStartEPCallback(
      [Add](ModulePassManager &Passes, OptimizationLevel Built) { Add(Passes, Built, ThinOrFullLTOPhase::None); });
  Builder.registerFullLinkTimeOptimizationEarlyEPCallback(
      [Add](ModulePassManager &Passes, OptimizationLevel Built) { Add(Passes, Built, ThinOrFullLTOPhase::FullLTOPostLink); });
  // The thin link's pipeline has no start to add to.
  Builder.registerPipelineEarlySimplificationEPCallback([Add](ModulePassManager &Passes, OptimizationLevel Built, ThinOrFullLTOPhase Phase) {
    if (Phase == ThinOrFullLTOPhase::ThinLTOPostLink)
      Add(Passes, Built, Phase);
  });
}

} // namespace mlcb
