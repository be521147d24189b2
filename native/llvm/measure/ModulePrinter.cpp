// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/ModulePrinter.h"

#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb::measure {

char ModulePrinter::ID = 0;

Error ModulePrinter::renew(MCContext &Context) {
  auto Out = Streamer(Context);
  if (!Out)
    return Out.takeError();
  Printer.reset(TM.getTarget().createAsmPrinter(TM, std::move(*Out)));
  if (!Printer)
    return createStringError("target " + TM.getTargetTriple().str() + ": cannot write objects");
  if (Handler)
    Printer->addAsmPrinterHandler(Handler());
  return Error::success();
}

bool ModulePrinter::doInitialization(Module &M) {
  Printer->setResolver(new AnalysisResolver(getResolver()->getPMDataManager())); // which becomes the pass's
  return Printer->doInitialization(M);
}

/// The pass manager knows this pass alone: the printer requires the same analyses, and is given them.
bool ModulePrinter::runOnMachineFunction(MachineFunction &MF) {
  AnalysisUsage Usage;
  getAnalysisUsage(Usage);
  AnalysisResolver &Given = *Printer->getResolver();
  Given.clearAnalysisImpls();
  for (AnalysisID Analysis : Usage.getRequiredSet())
    if (Pass *Found = getResolver()->findImplPass(Analysis))
      Given.addAnalysisImplsPair(Analysis, Found);
  return Printer->runOnMachineFunction(MF);
}

} // namespace mlcb::measure
