// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler of your own that links LLVM 22: it loads the plugin, and the policies of its command line decide in its own pipeline.
//
//   llvm_tool PLUGIN INPUT.bc OUTPUT.o [options of LLVM and the plugin, as -mlcb-runner=onnx:FOLDER]
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

static const ExitOnError Exit("llvm_tool: ");

static std::unique_ptr<Module> read(const char *Path, LLVMContext &Context) {
  SMDiagnostic Why;
  std::unique_ptr<Module> M = parseIRFile(Path, Why, Context);
  if (!M)
    Exit(createStringError(Twine(Path) + ": " + Why.getMessage()));
  return M;
}

static std::unique_ptr<TargetMachine> machineOf(const Module &M) {
  std::string Why;
  const Target *Found = TargetRegistry::lookupTarget(M.getTargetTriple(), Why);
  if (!Found)
    Exit(createStringError(Why));
  return std::unique_ptr<TargetMachine>(Found->createTargetMachine(M.getTargetTriple(), "", "", {}, Reloc::PIC_));
}

static void optimize(Module &M, TargetMachine &Machine, const PassPlugin &Plugin) {
  PassBuilder Builder(&Machine);
  Plugin.registerPassBuilderCallbacks(Builder); // here the policies come in
  LoopAnalysisManager Loops;
  FunctionAnalysisManager Functions;
  CGSCCAnalysisManager Components;
  ModuleAnalysisManager Modules;
  Builder.registerModuleAnalyses(Modules);
  Builder.registerCGSCCAnalyses(Components);
  Builder.registerFunctionAnalyses(Functions);
  Builder.registerLoopAnalyses(Loops);
  Builder.crossRegisterProxies(Loops, Functions, Components, Modules);
  Builder.buildPerModuleDefaultPipeline(OptimizationLevel::Oz).run(M, Modules);
}

static void emit(Module &M, TargetMachine &Machine, const char *Path) {
  std::error_code Failed;
  raw_fd_ostream Output(Path, Failed);
  Exit(errorCodeToError(Failed));
  legacy::PassManager Passes;
  if (Machine.addPassesToEmitFile(Passes, Output, nullptr, CodeGenFileType::ObjectFile))
    Exit(createStringError("LLVM writes no objects for " + M.getTargetTriple().str()));
  Passes.run(M);
}

int main(int Count, char **Arguments) {
  if (Count < 4)
    Exit(createStringError("expected PLUGIN INPUT.bc OUTPUT.o [options]"));
  const PassPlugin Plugin = Exit(PassPlugin::Load(Arguments[1])); // before options are parsed: it has its own
  SmallVector<const char *> Options{Arguments[0]};
  Options.append(Arguments + 4, Arguments + Count);
  cl::ParseCommandLineOptions(static_cast<int>(Options.size()), Options.data());
  InitializeAllTargetInfos();
  InitializeAllTargets();
  InitializeAllTargetMCs();
  InitializeAllAsmPrinters();

  LLVMContext Context;
  const std::unique_ptr<Module> M = read(Arguments[2], Context);
  const std::unique_ptr<TargetMachine> Machine = machineOf(*M);
  optimize(*M, *Machine, Plugin);
  emit(*M, *Machine, Arguments[3]);
}
