// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/CodeGenerator.h"

#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb::measure {

/// Throws the object away. The assembler writes first when the layout is final, and forgets it soon after: that is the moment to read it.
class CodeGenerator::LayoutStream final : public raw_pwrite_stream {
public:
  LayoutStream() { SetUnbuffered(); }

  void expect(LayoutListener Listener) {
    Position = 0;
    Pending = Listener;
  }
  MCObjectStreamer *Streamer = nullptr; // owned by the AsmPrinter

private:
  void write_impl(const char *, size_t Size) override {
    if (Position == 0)
      Pending(*Streamer);
    Position += Size;
  }
  void pwrite_impl(const char *, size_t, uint64_t) override {}
  uint64_t current_pos() const override { return Position; }

  LayoutListener Pending = nullptr;
  uint64_t Position = 0;
};

class CodeGenerator::FunctionTap final : public MachineFunctionPass {
public:
  FunctionTap() : MachineFunctionPass(ID) {}

  FunctionListener Listener = nullptr;

private:
  static char ID;
  StringRef getPassName() const override { return "function tap"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    Listener(MF);
    return false;
  }
};

char CodeGenerator::FunctionTap::ID = 0;

CodeGenerator::CodeGenerator(TargetMachine &TM) : TM(TM), Out(std::make_unique<LayoutStream>()) {}
CodeGenerator::~CodeGenerator() = default;

Expected<std::unique_ptr<CodeGenerator>> CodeGenerator::create(TargetMachine &TM) {
  std::unique_ptr<CodeGenerator> Generator(new CodeGenerator(TM));
  if (Error E = Generator->addPasses())
    return E;
  return Generator;
}

/// What TargetMachine::addPassesToEmitFile does, with a tap before the printer.
Error CodeGenerator::addPasses() {
  auto *Info = new MachineModuleInfoWrapperPass(&TM);
  const TargetOptions &Options = TM.Options;
  Pipeline.add(new TargetLibraryInfoWrapperPass(TM.getTargetTriple()));
  Pipeline.add(new RuntimeLibraryInfoWrapper(TM.getTargetTriple(), Options.ExceptionModel, Options.FloatABIType, Options.EABIVersion,
                                             Options.MCOptions.ABIName, Options.VecLib));
  TargetPassConfig *Config = TM.createPassConfig(Pipeline);
  Config->setDisableVerify(true);
  Pipeline.add(Config);
  Pipeline.add(Info);
  if (Config->addISelPasses())
    return createStringError("target " + TM.getTargetTriple().str() + ": cannot select instructions");
  Config->addMachinePasses();
  Config->setInitialized();
  Tap = new FunctionTap();
  Pipeline.add(Tap);

  auto Streamer = TM.createMCStreamer(*Out, nullptr, CodeGenFileType::ObjectFile, Info->getMMI().getContext());
  if (!Streamer)
    return Streamer.takeError();
  Out->Streamer = static_cast<MCObjectStreamer *>(Streamer->get());
  AsmPrinter *Printer = TM.getTarget().createAsmPrinter(TM, std::move(*Streamer));
  if (!Printer)
    return createStringError("target " + TM.getTargetTriple().str() + ": cannot write objects");
  Pipeline.add(Printer);
  Pipeline.add(createFreeMachineFunctionPass());
  return Error::success();
}

void CodeGenerator::run(Module &M, FunctionListener OnFunction, LayoutListener OnLayout) {
  Tap->Listener = OnFunction;
  Out->expect(OnLayout);
  Pipeline.run(M);
}

} // namespace mlcb::measure
