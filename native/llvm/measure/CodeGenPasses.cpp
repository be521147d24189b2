// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/CodeGenPasses.h"

#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
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
                                        MakeStreamer Streamer) {
  auto *Info = new MachineModuleInfoWrapperPass(&TM);
  addLibraryInfo(Pipeline, TM);
  TargetPassConfig *Config = TM.createPassConfig(Pipeline);
  Config->setDisableVerify(true);
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

} // namespace mlcb::measure
