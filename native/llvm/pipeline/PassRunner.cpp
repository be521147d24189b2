// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/PassRunner.h"

#include "llvm/pipeline/DefaultPipeline.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

PassRunner::PassRunner(TargetMachine &Target, const Extension &Extend)
    : Builder(&Target, PipelineTuningOptions(), /*PGOOpt=*/std::nullopt, &Callbacks) {
  OptNone.registerCallbacks(Callbacks);
  addDefaultPipelines(Builder, Target, Callbacks, Extend);
  Extend(Builder);
  Builder.registerModuleAnalyses(Modules);
  Builder.registerCGSCCAnalyses(Sccs);
  Builder.registerFunctionAnalyses(Functions);
  Builder.registerLoopAnalyses(Loops);
  Builder.crossRegisterProxies(Loops, Functions, Sccs, Modules);
}

Expected<ModulePassManager> PassRunner::parse(const Stage &S) {
  OptionScope Options(S.Options);
  if (!Options.taken())
    return Unexpected(Options.taken().error());
  ModulePassManager Passes;
  if (llvm::Error E = Builder.parsePassPipeline(Passes, asClangHasIt(S.Pipeline)))
    return fail(ErrorKind::InvalidArgument, toString(std::move(E)));
  return Passes;
}

PreservedAnalyses PassRunner::run(ModulePassManager Passes, const Stage &S, Module &M) {
  OptionScope Options(S.Options);
  PreservedAnalyses Preserved = Passes.run(M, Modules);
  Modules.clear(); // and through its proxies all the others
  return Preserved;
}

void PassRunner::run(StringRef Pipeline, Module &M) {
  Stage S{{}, Pipeline.str()};
  run(std::move(*parse(S)), S, M);
}

} // namespace mlcb
