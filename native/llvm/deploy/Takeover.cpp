// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/Takeover.h"

#include "llvm/deploy/Optimizations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"

using namespace llvm;

namespace mlcb {

namespace {

/// A builder tells nobody what it was told of profiles, but its passes do.
bool isProfiled(PassBuilder &Builder, const OptimizationLevel &Level) {
  std::string Text;
  raw_string_ostream Out(Text);
  Builder.buildModuleSimplificationPipeline(Level, ThinOrFullLTOPhase::None).printPipeline(Out, [](StringRef Class) { return Class; });
  SmallVector<StringRef> Classes;
  SplitString(Text, Classes, ",()<>;");
  return any_of(Classes, isProfiling);
}

/// The pipeline at work.
struct Pipeline {
  bool IsTakenOver = false;
  bool LeavesOut = false;     // now: not before its profile
  bool HasCoroutines = false; // which the inliner's wrapper holds the splitting of
};

class OptimizePass : public PassInfoMixin<OptimizePass> {
public:
  OptimizePass(const Takeover &With, Pipeline &Now) : With(With), Now(Now) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Modules) {
    if (!Now.IsTakenOver)
      return PreservedAnalyses::all();
    Modules.invalidate(M, AlwaysInlinerPass().run(M, Modules)); // what a full link leaves to its inliner
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

  void begin(Module &M, const HostPipeline &Host) {
    Now.IsTakenOver = With.Begins(M, Host);
    Now.LeavesOut = Now.IsTakenOver && !isProfiled(Host.Builder, *Host.At.Built);
    Now.HasCoroutines = any_of(M, [](const Function &F) { return F.isPresplitCoroutine(); });
  }

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

} // namespace

void takeOverPipelines(PassBuilder &Builder, Takeover With) {
  auto Own = std::make_shared<Shared>(Shared{std::move(With), {}});
  if (auto *Callbacks = Builder.getPassInstrumentationCallbacks()) {
    Callbacks->registerShouldRunOptionalPassCallback([Own](StringRef Class, const Any &) { return Own->runs(Class); });
    Callbacks->registerAfterPassCallback([Own](StringRef Class, const Any &, const PreservedAnalyses &) { Own->ran(Class); });
  }
  runAtPipelineStart(Builder, [Own](Module &M, const HostPipeline &Host) {
    Own->begin(M, Host);
    return false;
  });
  auto Add = [Own](ModulePassManager &Passes, OptimizationLevel Level) {
    if (Level != OptimizationLevel::O0)
      Passes.addPass(OptimizePass(Own->With, Own->Now));
  };
  Builder.registerOptimizerEarlyEPCallback([Add](ModulePassManager &Passes, OptimizationLevel Level, ThinOrFullLTOPhase) { Add(Passes, Level); });
  Builder.registerFullLinkTimeOptimizationLastEPCallback(Add);
}

} // namespace mlcb
