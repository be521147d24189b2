// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/CodeGenerator.h"

#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCObjectStreamer.h"
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

CodeGenerator::CodeGenerator(TargetMachine &TM, AllocationListener OnAllocation)
    : TM(TM), OnAllocation(std::move(OnAllocation)), Out(std::make_unique<LayoutStream>()), Pipeline(TM, [this](MCContext &Context) {
        auto Made = this->TM.createMCStreamer(*Out, nullptr, CodeGenFileType::ObjectFile, Context);
        if (Made)
          Out->Streamer = static_cast<MCObjectStreamer *>(Made->get());
        return Made;
      }) {}
CodeGenerator::~CodeGenerator() = default;

Error CodeGenerator::prepare() {
  auto NewTap = std::make_unique<FunctionTap>();
  Tap = NewTap.get();
  return Pipeline.build(std::move(NewTap), OnAllocation ? createAllocationListener(OnAllocation) : nullptr);
}

void CodeGenerator::run(Module &M, FunctionListener OnFunction, LayoutListener OnLayout) {
  if (!Tap)
    if (Error E = prepare())
      report_fatal_error(std::move(E));
  Tap->Listener = OnFunction;
  Out->expect(OnLayout);
  Pipeline.run(M);
}

} // namespace mlcb::measure
