// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/Takeover.h"

#include "llvm/deploy/Optimizations.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/pipeline/HostScope.h"
#include "llvm/pipeline/PassRunner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"

using namespace llvm;

namespace mlcb {

namespace {

bool isProfiled(PassBuilder &Builder, const OptimizationLevel &Level) {
  const std::string Text = classesOf(Builder, Level);
  SmallVector<StringRef> Classes;
  SplitString(Text, Classes, ",()<>;");
  return any_of(Classes, isProfiling);
}

/// The pipeline at work.
struct Pipeline {
  bool IsTakenOver = false;
  bool LeavesOut = false; // now: not before its profile, nor behind its end
};

/// The last pass of every pipeline of a level.
constexpr StringLiteral Last = "AnnotationRemarksPass";

/// Whether functions are called that clang refuses to see called.
bool callsRefused(const Module &M) {
  return any_of(M, [](const Function &F) { return F.hasFnAttribute("dontcall-error") && !F.use_empty(); });
}

/// Runs stock's optimizations, too, where they may prove that a call is never reached which a policy's leave.
void removeRefusedCalls(Module &M, OptimizationLevel At) {
  if (!callsRefused(M))
    return;
  if (auto Target = PolicySet::measurerFor(M, measure::Setup::WhenMeasured))
    PassRunner((*Target)->targetMachine()).run(Level::of(At).Pipeline, M);
}

class OptimizePass : public PassInfoMixin<OptimizePass> {
public:
  OptimizePass(const Takeover &With, Pipeline &Now, PassBuilder &Builder, OptimizationLevel At) : With(With), Now(Now), Builder(Builder), At(At) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &Modules) {
    if (!Now.IsTakenOver)
      return PreservedAnalyses::all();
    Modules.invalidate(M, AlwaysInlinerPass().run(M, Modules)); // what a full link leaves to its inliner
    const HostScope Inside(Builder, At);
    With.Optimize(M);
    removeRefusedCalls(M, At);
    Now.LeavesOut = true;
    return PreservedAnalyses::none();
  }

private:
  const Takeover &With;
  Pipeline &Now;
  PassBuilder &Builder;
  OptimizationLevel At;
};

/// What a builder and its pipelines share.
struct Shared {
  Takeover With;
  Pipeline Now;

  void begin(Module &M, const HostPipeline &Host) {
    Now.IsTakenOver = With.Begins(M, Host);
    Now.LeavesOut = Now.IsTakenOver && !isProfiled(Host.Builder, *Host.At.Built);
  }

  bool runs(StringRef Class) const { return !Now.LeavesOut || !isOptimization(Class); }

  void ran(StringRef Class) {
    if (Now.IsTakenOver && isProfiling(Class))
      Now.LeavesOut = true;
    if (Class == Last)
      Now = {};
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
  auto Add = [Own, &Builder](ModulePassManager &Passes, OptimizationLevel Level) {
    if (Level != OptimizationLevel::O0)
      Passes.addPass(OptimizePass(Own->With, Own->Now, Builder, Level));
  };
  Builder.registerOptimizerEarlyEPCallback([Add](ModulePassManager &Passes, OptimizationLevel Level, ThinOrFullLTOPhase) { Add(Passes, Level); });
  Builder.registerFullLinkTimeOptimizationLastEPCallback(Add);
}

} // namespace mlcb
