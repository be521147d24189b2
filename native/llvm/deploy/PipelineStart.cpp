// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/PipelineStart.h"

#include "llvm/pipeline/HostScope.h"

using namespace llvm;

namespace mlcb {

namespace {

class StartPass : public PassInfoMixin<StartPass> {
public:
  StartPass(AtPipelineStart Run, PassBuilder &Builder, const Level &At, ThinOrFullLTOPhase Phase)
      : Run(std::move(Run)), Builder(Builder), At(At), Phase(Phase) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Modules) {
    const HostScope Inside(Builder, *At.Built);
    return Run(M, {Builder, Modules, At, Phase}) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

private:
  AtPipelineStart Run;
  PassBuilder &Builder;
  const Level &At;
  ThinOrFullLTOPhase Phase;
};

class EndPass : public PassInfoMixin<EndPass> {
public:
  EndPass(AtPipelineEnd Run, PassBuilder &Builder, OptimizationLevel Built, ThinOrFullLTOPhase Phase)
      : Run(std::move(Run)), Builder(Builder), Built(Built), Phase(Phase) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    const HostScope Inside(Builder, Built);
    return Run(M, Built, Phase) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

private:
  AtPipelineEnd Run;
  PassBuilder &Builder;
  OptimizationLevel Built;
  ThinOrFullLTOPhase Phase;
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

void HostPipeline::run(Module &M) const {
  switch (Phase) {
  case ThinOrFullLTOPhase::FullLTOPostLink: Builder.buildLTODefaultPipeline(*At.Built, nullptr).run(M, Modules); break;
  case ThinOrFullLTOPhase::ThinLTOPostLink: Builder.buildThinLTODefaultPipeline(*At.Built, nullptr).run(M, Modules); break;
  default: Builder.buildPerModuleDefaultPipeline(*At.Built).run(M, Modules);
  }
}

void runAtPipelineStart(PassBuilder &Builder, AtPipelineStart Run) {
  auto Add = [&Builder, Run = std::move(Run)](ModulePassManager &Passes, OptimizationLevel Built, ThinOrFullLTOPhase Phase) {
    if (Built != OptimizationLevel::O0)
      Passes.addPass(StartPass(Run, Builder, Level::of(Built), Phase));
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

void runAtPipelineEnd(PassBuilder &Builder, AtPipelineEnd Run) {
  auto Add = [&Builder, Run = std::move(Run)](ModulePassManager &Passes, OptimizationLevel Built, ThinOrFullLTOPhase Phase) {
    Passes.addPass(EndPass(Run, Builder, Built, Phase));
  };
  Builder.registerOptimizerLastEPCallback(Add);
  Builder.registerFullLinkTimeOptimizationLastEPCallback(
      [Add](ModulePassManager &Passes, OptimizationLevel Built) { Add(Passes, Built, ThinOrFullLTOPhase::FullLTOPostLink); });
}

} // namespace mlcb
