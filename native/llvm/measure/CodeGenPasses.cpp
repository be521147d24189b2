// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/CodeGenPasses.h"

#include "llvm/measure/AllocationCost.h"

#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetLoweringObjectFileImpl.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb::measure {

static void addLibraryInfo(legacy::PassManagerBase &Pipeline, const TargetMachine &TM) {
  const TargetOptions &Options = TM.Options;
  Pipeline.add(new TargetLibraryInfoWrapperPass(TM.getTargetTriple()));
  Pipeline.add(new RuntimeLibraryInfoWrapper(TM.getTargetTriple(), Options.ExceptionModel, Options.FloatABIType, Options.EABIVersion,
                                             Options.MCOptions.ABIName, Options.VecLib));
}

namespace {
using UsedGlobals = SmallPtrSet<GlobalObject *, 2>;
UsedGlobals &usedGlobals(TargetLoweringObjectFileELF &Sections);

/// An explicit instantiation may name what is private.
template <UsedGlobals TargetLoweringObjectFileELF::*Private> struct Access {
  friend UsedGlobals &usedGlobals(TargetLoweringObjectFileELF &Sections) { return Sections.*Private; }
};
template struct Access<&TargetLoweringObjectFileELF::Used>;
} // namespace

/// A target machine never forgets which globals were in llvm.used: a global of the next module may lie where one did, and would be given a
/// section of its own.
static void forgetUsedGlobals(const TargetMachine &TM) {
  if (const Triple &Target = TM.getTargetTriple(); Target.isOSBinFormatELF() && !Target.isNVPTX()) // which writes assembly, though its format is ELF
    usedGlobals(static_cast<TargetLoweringObjectFileELF &>(*TM.getObjFileLowering())).clear();
}

CodeGenPipeline::CodeGenPipeline(TargetMachine &TM, MakeStreamer Streamer, MakeHandler Handler)
    : TM(TM), Unbuilt(std::make_unique<ModulePrinter>(TM, std::move(Streamer), std::move(Handler))), Printer(Unbuilt.get()) {}
CodeGenPipeline::~CodeGenPipeline() = default;

Error CodeGenPipeline::build(std::unique_ptr<Pass> BeforePrinter, std::unique_ptr<Pass> OnAllocation) {
  if (Error E = renew())
    return E;
  Passes = std::make_unique<legacy::PassManager>();
  auto *Info = new MachineModuleInfoWrapperPass(&TM, &*Context);
  addLibraryInfo(*Passes, TM);
  TargetPassConfig *Config = TM.createPassConfig(*Passes);
  Config->setDisableVerify(true);
  if (OnAllocation) {
    Passes->add(OnAllocation.release());
    Config->insertPass(&VirtRegRewriterID, &AllocationTapID);
    Config->insertPass(&PrologEpilogCodeInserterID, &ExecutionTapID);
  }
  Passes->add(Config);
  Passes->add(Info);
  if (Config->addISelPasses())
    return createStringError("target " + TM.getTargetTriple().str() + ": cannot select instructions");
  Config->addMachinePasses();
  Config->setInitialized();
  Passes->add(BeforePrinter.release());
  Passes->add(Unbuilt.release());
  Passes->add(createFreeMachineFunctionPass());
  return Error::success();
}

Error CodeGenPipeline::renew() {
  Printer->drop();
  forgetUsedGlobals(TM);
  Context.emplace(TM.getTargetTriple(), TM.getMCAsmInfo(), TM.getMCRegisterInfo(), TM.getMCSubtargetInfo(), /*Mgr=*/nullptr, &TM.Options.MCOptions,
                  /*DoAutoReset=*/false);
  Context->setObjectFileInfo(TM.getObjFileLowering());
  return Printer->renew(*Context);
}

void CodeGenPipeline::run(Module &M) {
  cantFail(renew());
  Passes->run(M);
}

} // namespace mlcb::measure
