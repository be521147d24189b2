// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/PipelineStart.h"

#include "llvm/pipeline/HostScope.h"

using namespace llvm;

namespace mlcb {

namespace {

class HostPass : public PassInfoMixin<HostPass> {
public:
  HostPass(AtPipeline Run, PassBuilder &Builder, const Level &At, ThinOrFullLTOPhase Phase)
      : Run(std::move(Run)), Builder(Builder), At(At), Phase(Phase) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Modules) {
    const HostScope Inside(Builder, *At.Built);
    return Run(M, {Builder, Modules, At, Phase}) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

private:
  AtPipeline Run;
  PassBuilder &Builder;
  const Level &At;
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

void runAtPipelineStart(PassBuilder &Builder, AtPipeline Run) {
  auto Add = [&Builder, Run = std::move(Run)](ModulePassManager &Passes, OptimizationLevel Built, ThinOrFullLTOPhase Phase) {
    if (Built != OptimizationLevel::O0)
      Passes.addPass(HostPass(Run, Builder, Level::of(Built), Phase));
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

void runAtPipelineEnd(PassBuilder &Builder, AtPipeline Run) {
  auto Add = [&Builder, Run = std::move(Run)](ModulePassManager &Passes, OptimizationLevel Built, ThinOrFullLTOPhase Phase) {
    Passes.addPass(HostPass(Run, Builder, Level::of(Built), Phase));
  };
  Builder.registerOptimizerLastEPCallback(Add);
  Builder.registerFullLinkTimeOptimizationLastEPCallback(
      [Add](ModulePassManager &Passes, OptimizationLevel Built) { Add(Passes, Built, ThinOrFullLTOPhase::FullLTOPostLink); });
}

} // namespace mlcb
