// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/PassRunner.h"

#include "llvm/pipeline/DefaultPipeline.h"
#include "llvm/pipeline/HostScope.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"

using namespace llvm;

namespace mlcb {

struct PassRunner::Managers {
  explicit Managers(TargetMachine &Target) : Builder(&Target, PipelineTuningOptions(), /*PGOOpt=*/std::nullopt, &Callbacks) {}

  LoopAnalysisManager Loops;
  FunctionAnalysisManager Functions;
  CGSCCAnalysisManager Sccs;
  ModuleAnalysisManager Modules;
  OptNoneInstrumentation OptNone{/*DebugLogging=*/false};
  PassInstrumentationCallbacks Callbacks;
  PassBuilder Builder;
};

PassRunner::PassRunner(TargetMachine &Target, const Extension &Extend) : Own(std::make_unique<Managers>(Target)) {
  auto &[Loops, Functions, Sccs, Modules, OptNone, Callbacks, Builder] = *Own;
  OptNone.registerCallbacks(Callbacks);
  addDefaultPipelines(Builder, Target, Callbacks, Extend);
  Extend(Builder);
  if (const HostScope *Host = HostScope::innermost())
    Host->extend(Functions, Callbacks); // first: what is registered already stays
  Builder.registerModuleAnalyses(Modules);
  Builder.registerCGSCCAnalyses(Sccs);
  Builder.registerFunctionAnalyses(Functions);
  Builder.registerLoopAnalyses(Loops);
  Builder.crossRegisterProxies(Loops, Functions, Sccs, Modules);
}

PassRunner::~PassRunner() = default;

ModuleAnalysisManager &PassRunner::modules() { return Own->Modules; }

template <class ManagerT> Expected<ManagerT> PassRunner::parse(const Stage &S) {
  OptionScope Options(S.Options);
  if (!Options.taken())
    return Unexpected(Options.taken().error());
  ManagerT Passes;
  if (llvm::Error E = Own->Builder.parsePassPipeline(Passes, asClangHasIt(S.Pipeline)))
    return fail(ErrorKind::InvalidArgument, asWritten(toString(std::move(E))));
  return Passes;
}

template Expected<ModulePassManager> PassRunner::parse(const Stage &);
template Expected<FunctionPassManager> PassRunner::parse(const Stage &);

PreservedAnalyses PassRunner::run(ModulePassManager Passes, const Stage &S, Module &M) {
  OptionScope Options(S.Options);
  PreservedAnalyses Preserved = Passes.run(M, Own->Modules);
  Own->Modules.clear(); // and through its proxies all the others
  return Preserved;
}

void PassRunner::run(FunctionPassManager &Passes, const Stage &S, Function &F) {
  OptionScope Options(S.Options);
  Passes.run(F, Own->Functions);
  Own->Functions.clear();
}

void PassRunner::run(StringRef Pipeline, Module &M) {
  Stage S{{}, Pipeline.str()};
  run(std::move(*parse(S)), S, M);
}

} // namespace mlcb
