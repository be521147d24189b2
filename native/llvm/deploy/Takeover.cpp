// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/Takeover.h"

#include "llvm/deploy/Optimizations.h"
#include "llvm/pipeline/Level.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The pipeline at work.
struct Pipeline {
  bool IsTakenOver = false;
  bool LeavesOut = false;     // now: not before its profile
  bool HasCoroutines = false; // which the inliner's wrapper holds the splitting of
};

class BeginPass : public PassInfoMixin<BeginPass> {
public:
  BeginPass(const Takeover &With, Pipeline &Now, StringRef Name, bool IsProfiled) : With(With), Now(Now), Name(Name), IsProfiled(IsProfiled) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    Now.IsTakenOver = With.Begins(M, Name);
    Now.LeavesOut = Now.IsTakenOver && !IsProfiled;
    Now.HasCoroutines = any_of(M, [](const Function &F) { return F.isPresplitCoroutine(); });
    return PreservedAnalyses::all();
  }

private:
  const Takeover &With;
  Pipeline &Now;
  StringRef Name;
  bool IsProfiled;
};

class OptimizePass : public PassInfoMixin<OptimizePass> {
public:
  OptimizePass(const Takeover &With, Pipeline &Now) : With(With), Now(Now) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    if (!Now.IsTakenOver)
      return PreservedAnalyses::all();
    With.Optimize(M);
    Now.LeavesOut = true;
    return PreservedAnalyses::none();
  }

private:
  const Takeover &With;
  Pipeline &Now;
};

/// What a builder and its pipelines share.
struct Shared {
  Takeover With;
  Pipeline Now;

  bool runs(StringRef Class) const {
    if (!Now.LeavesOut)
      return true;
    return Class == "ModuleInlinerWrapperPass" ? Now.HasCoroutines : !isOptimization(Class);
  }

  void ran(StringRef Class) {
    if (Now.IsTakenOver && isProfiling(Class))
      Now.LeavesOut = true;
  }
};

/// A builder tells nobody what it was told of profiles, but its passes do.
bool isProfiled(PassBuilder &Builder, OptimizationLevel Level) {
  std::string Text;
  raw_string_ostream Out(Text);
  Builder.buildModuleSimplificationPipeline(Level, ThinOrFullLTOPhase::None).printPipeline(Out, [](StringRef Class) { return Class; });
  SmallVector<StringRef> Classes;
  SplitString(Text, Classes, ",()<>;");
  return any_of(Classes, isProfiling);
}

} // namespace

void takeOverPipelines(PassBuilder &Builder, Takeover With) {
  auto Own = std::make_shared<Shared>(Shared{std::move(With), {}});
  if (auto *Callbacks = Builder.getPassInstrumentationCallbacks()) {
    Callbacks->registerShouldRunOptionalPassCallback([Own](StringRef Class, const Any &) { return Own->runs(Class); });
    Callbacks->registerAfterPassCallback([Own](StringRef Class, const Any &, const PreservedAnalyses &) { Own->ran(Class); });
  }
  Builder.registerPipelineStartEPCallback([Own, &Builder](ModulePassManager &Passes, OptimizationLevel Level) {
    if (Level != OptimizationLevel::O0)
      Passes.addPass(BeginPass(Own->With, Own->Now, Level::of(Level).Pipeline, isProfiled(Builder, Level)));
  });
  Builder.registerOptimizerEarlyEPCallback([Own](ModulePassManager &Passes, OptimizationLevel Level, ThinOrFullLTOPhase) {
    if (Level != OptimizationLevel::O0)
      Passes.addPass(OptimizePass(Own->With, Own->Now));
  });
}

} // namespace mlcb
