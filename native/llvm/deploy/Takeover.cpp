// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/Takeover.h"

#include "llvm/deploy/Optimizations.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/pipeline/HostScope.h"
#include "llvm/pipeline/PassRunner.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"

using namespace llvm;

namespace mlcb {

namespace {

SmallVector<StringRef> split(StringRef Classes) {
  SmallVector<StringRef> Found;
  SplitString(Classes, Found, ",()<>;");
  return Found;
}

/// The passes that the inliner's wrapper holds, those of the functions that it simplifies among them.
StringRef insideWrapper(StringRef Classes) {
  const StringRef Inside = Classes.substr(Classes.find("cgscc("));
  int Depth = 0;
  return Inside.take_until([&](char C) { return C == '(' ? (++Depth, false) : C == ')' && --Depth == 0; });
}

/// Whether the inliner's wrapper holds what plain LLVM has not there, as a check of bounds: required passes, which are run with it or not at all.
bool wrapperHoldsMore(StringRef Classes, const OptimizationLevel &Level) {
  PassBuilder Plain;
  const std::string Usual = classesOf(Plain, Level);
  const SmallVector<StringRef> Known = split(insideWrapper(Usual));
  return any_of(split(insideWrapper(Classes)), [&](StringRef Class) { return !is_contained(Known, Class) && !isOptimization(Class); });
}

/// The pipeline at work.
struct Pipeline {
  bool IsTakenOver = false;
  bool LeavesOut = false;    // now: not before its profile, nor behind its end
  bool NeedsWrapper = false; // of the inliner: it holds the splitting of coroutines, or more
};

/// The last pass of every pipeline of a level.
constexpr StringLiteral Last = "AnnotationRemarksPass";

/// Whether clang says something about calls of the function.
bool isReported(const Function &F) { return F.hasFnAttribute("dontcall-error") || F.hasFnAttribute("dontcall-warn"); }

/// Whether inline assembly has an operand that must be a constant, and is none yet.
bool lacksConstant(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  const auto *Assembly = Call ? dyn_cast<InlineAsm>(Call->getCalledOperand()) : nullptr;
  if (!Assembly)
    return false;
  unsigned Next = 0;
  return any_of(Assembly->ParseConstraints(), [&](const InlineAsm::ConstraintInfo &Constraint) {
    if (!Constraint.hasArg())
      return false;
    const Value *Operand = Call->getArgOperand(Next++);
    return is_contained({"i", "n"}, join(Constraint.Codes, ",")) && !isa<Constant>(Operand);
  });
}

/// Whether clang would say what it does not say of stock's code: of a call that is never reached, or of a value that is no constant.
bool mayBeReported(const Module &M) {
  return any_of(M, [](const Function &F) { return (isReported(F) && !F.use_empty()) || any_of(instructions(F), lacksConstant); });
}

/// Runs stock's optimizations, too, where they may remove what clang reports and a policy's leave.
void removeReported(Module &M, OptimizationLevel At) {
  if (!mayBeReported(M))
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
    removeReported(M, At);
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
struct SharedTakeover {
  Takeover With;
  Pipeline Now;

  void begin(Module &M, const HostPipeline &Host) {
    const bool Takes = With.Begins(M, Host);
    Now = {.IsTakenOver = Takes};
    if (!Takes)
      return;
    const std::string Classes = classesOf(Host.Builder, *Host.At.Built);
    Now.LeavesOut = none_of(split(Classes), isProfiling);
    Now.NeedsWrapper = wrapperHoldsMore(Classes, *Host.At.Built) || any_of(M, [](const Function &F) { return F.isPresplitCoroutine(); });
  }

  bool runs(StringRef Class) const {
    if (!Now.LeavesOut)
      return true;
    return Class == "ModuleInlinerWrapperPass" ? Now.NeedsWrapper : !isOptimization(Class);
  }

  void ran(StringRef Class) {
    if (Now.IsTakenOver && isProfiling(Class))
      Now.LeavesOut = true;
    if (Class == Last)
      Now = {};
  }
};

} // namespace

void takeOverPipelines(PassBuilder &Builder, Takeover With) {
  auto Own = std::make_shared<SharedTakeover>(SharedTakeover{std::move(With), {}});
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
