// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/BlockGenerator.h"

#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb::measure {

/// The function that is being printed.
class BlockGenerator::Recorder {
public:
  void expect(Listener OnFunction) { Pending = OnFunction; }

  void begin(const MachineFunction &MF, const MachineBlockFrequencyInfo &Frequencies);
  void enter(const MachineInstr &MI) { Current = &Blocks[MI.getParent()->getNumber()]; }
  void add(const MCInst &Inst) {
    if (Current) // otherwise it is padding before the entry
      Current->Instructions.push_back(Inst);
  }
  void end(const MachineFunction &MF) {
    Pending(MF.getFunction(), Blocks);
    Current = nullptr;
  }

private:
  SmallVector<CodeBlock, 0> Blocks; // by number
  CodeBlock *Current = nullptr;
  Listener Pending = nullptr;
};

static void noteCallees(const MachineBasicBlock &MBB, CodeBlock &Block) {
  for (const MachineInstr &MI : MBB.instrs())
    if (MI.isCall(MachineInstr::IgnoreBundle))
      for (const MachineOperand &Operand : MI.operands())
        if (Operand.isGlobal())
          if (auto *Callee = dyn_cast_or_null<Function>(Operand.getGlobal()->getAliaseeObject()))
            Block.Callees.push_back(Callee);
}

void BlockGenerator::Recorder::begin(const MachineFunction &MF, const MachineBlockFrequencyInfo &Frequencies) {
  Blocks.clear();
  Blocks.resize(MF.getNumBlockIDs());
  for (const MachineBasicBlock &MBB : MF) {
    CodeBlock &Block = Blocks[MBB.getNumber()];
    Block.Frequency = Frequencies.getBlockFreqRelativeToEntryBlock(&MBB);
    noteCallees(MBB, Block);
  }
}

class BlockGenerator::FrequencyTap final : public MachineFunctionPass {
public:
  explicit FrequencyTap(Recorder &Record) : MachineFunctionPass(ID), Record(Record) {}

private:
  static char ID;
  StringRef getPassName() const override { return "block frequency tap"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    Record.begin(MF, getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI());
    return false;
  }

  Recorder &Record;
};

char BlockGenerator::FrequencyTap::ID = 0;

/// Knows which block the printer is in.
class BlockGenerator::InstructionTap final : public AsmPrinterHandler {
public:
  explicit InstructionTap(Recorder &Record) : Record(Record) {}

private:
  void endModule() override {}
  void beginFunction(const MachineFunction *) override {}
  void endFunction(const MachineFunction *MF) override { Record.end(*MF); }
  void beginInstruction(const MachineInstr *MI) override { Record.enter(*MI); }

  Recorder &Record;
};

/// Takes the instructions as the printer lowers them, those of inline assembly included.
class BlockGenerator::RecordingStreamer final : public MCStreamer {
public:
  RecordingStreamer(MCContext &Context, Recorder &Record) : MCStreamer(Context), Record(Record) {}

private:
  void emitInstruction(const MCInst &Inst, const MCSubtargetInfo &) override { Record.add(Inst); }
  bool emitSymbolAttribute(MCSymbol *, MCSymbolAttr) override { return true; }
  void emitCommonSymbol(MCSymbol *, uint64_t, Align) override {}

  Recorder &Record;
};

BlockGenerator::BlockGenerator(TargetMachine &TM)
    : Record(std::make_unique<Recorder>()), Pipeline(
                                                TM,
                                                [this, &TM](MCContext &Context) -> Expected<std::unique_ptr<MCStreamer>> {
                                                  auto Made = std::make_unique<RecordingStreamer>(Context, *Record);
                                                  TM.getTarget().createNullTargetStreamer(*Made);
                                                  return Made;
                                                },
                                                [this] { return std::make_unique<InstructionTap>(*Record); }) {}
BlockGenerator::~BlockGenerator() = default;

Expected<std::unique_ptr<BlockGenerator>> BlockGenerator::create(TargetMachine &TM) {
  std::unique_ptr<BlockGenerator> Generator(new BlockGenerator(TM));
  if (Error E = Generator->Pipeline.build(std::make_unique<FrequencyTap>(*Generator->Record)))
    return E;
  return Generator;
}

void BlockGenerator::run(Module &M, Listener OnFunction) {
  Record->expect(OnFunction);
  Pipeline.run(M);
}

} // namespace mlcb::measure
