// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/CodeGenPasses.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb::measure {

static void addLibraryInfo(legacy::PassManagerBase &Pipeline, const TargetMachine &TM) {
  const TargetOptions &Options = TM.Options;
  Pipeline.add(new TargetLibraryInfoWrapperPass(TM.getTargetTriple()));
  Pipeline.add(new RuntimeLibraryInfoWrapper(TM.getTargetTriple(), Options.ExceptionModel, Options.FloatABIType, Options.EABIVersion,
                                             Options.MCOptions.ABIName, Options.VecLib));
}

Expected<AsmPrinter *> addCodeGenPasses(legacy::PassManagerBase &Pipeline, TargetMachine &TM, std::unique_ptr<Pass> BeforePrinter,
                                        MakeStreamer Streamer, std::unique_ptr<Pass> OnAllocation) {
  auto *Info = new MachineModuleInfoWrapperPass(&TM);
  addLibraryInfo(Pipeline, TM);
  TargetPassConfig *Config = TM.createPassConfig(Pipeline);
  Config->setDisableVerify(true);
  if (OnAllocation) {
    Pipeline.add(OnAllocation.release());
    Config->insertPass(&VirtRegRewriterID, &AllocationTapID);
  }
  Pipeline.add(Config);
  Pipeline.add(Info);
  if (Config->addISelPasses())
    return createStringError("target " + TM.getTargetTriple().str() + ": cannot select instructions");
  Config->addMachinePasses();
  Config->setInitialized();
  Pipeline.add(BeforePrinter.release());

  auto Out = Streamer(Info->getMMI().getContext());
  if (!Out)
    return Out.takeError();
  AsmPrinter *Printer = TM.getTarget().createAsmPrinter(TM, std::move(*Out));
  if (!Printer)
    return createStringError("target " + TM.getTargetTriple().str() + ": cannot write objects");
  Pipeline.add(Printer);
  Pipeline.add(createFreeMachineFunctionPass());
  return Printer;
}

static bool hasAssembly(const Module &M) {
  auto IsAssembly = [](const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    return Call && Call->isInlineAsm();
  };
  return !M.getModuleInlineAsm().empty() || any_of(M, [&](const Function &F) { return any_of(instructions(F), IsAssembly); });
}

CodeGenPipeline::CodeGenPipeline(AddPasses Add) : Add(std::move(Add)) {}
CodeGenPipeline::~CodeGenPipeline() = default;

Error CodeGenPipeline::build() {
  Passes = std::make_unique<legacy::PassManager>();
  return Add(*Passes);
}

void CodeGenPipeline::run(Module &M) {
  bool Spent = hasAssembly(M);
  Passes->run(M);
  // MCContext::reset forgets all symbols but those of numbered labels (1:), which the next module would define again.
  if (Spent)
    cantFail(build());
}

} // namespace mlcb::measure
