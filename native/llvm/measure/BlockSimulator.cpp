// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/BlockSimulator.h"

#include "llvm/MC/MCInstrAnalysis.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/MCA/Context.h"
#include "llvm/MCA/CustomBehaviour.h"
#include "llvm/MCA/InstrBuilder.h"
#include "llvm/MCA/Pipeline.h"
#include "llvm/MCA/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb::measure {

static std::unique_ptr<MCInstrAnalysis> createAnalysis(const Target &T, const MCInstrInfo &Instructions) {
  std::unique_ptr<MCInstrAnalysis> Made(T.createMCInstrAnalysis(&Instructions));
  return Made ? std::move(Made) : std::make_unique<MCInstrAnalysis>(&Instructions);
}

/// The target's own object, or else llvm-mca's.
template <class Default, class... Args> static std::unique_ptr<Default> orDefault(Default *OfTarget, Args &...Arguments) {
  return OfTarget ? std::unique_ptr<Default>(OfTarget) : std::make_unique<Default>(Arguments...);
}

class BlockSimulator::Impl {
public:
  explicit Impl(const TargetMachine &TM)
      : T(TM.getTarget()), Subtarget(*TM.getMCSubtargetInfo()), Instructions(*TM.getMCInstrInfo()), Registers(*TM.getMCRegisterInfo()),
        Analysis(Instructions, createAnalysis(T, Instructions)),
        Instruments(orDefault(T.createInstrumentManager(Subtarget, Instructions), Subtarget, Instructions)),
        PostProcess(orDefault(T.createInstrPostProcess(Subtarget, Instructions), Subtarget, Instructions)),
        Builder(Subtarget, Instructions, Registers, &Analysis, *Instruments, /*CallLatency=*/0) {}

  double cycles(ArrayRef<MCInst> Code) {
    unsigned Unknown = 0;
    Sequence Known = build(Code, Unknown);
    if (Known.empty())
      return Unknown;
    // The first runs fill the pipeline, in a time of their own.
    static constexpr size_t WarmInstructions = 32, WarmRuns = 2;
    unsigned Runs = std::max(WarmRuns, WarmInstructions / Known.size());
    return Unknown + (simulate(Known, 2 * Runs) - simulate(Known, Runs)) / Runs;
  }

private:
  /// To llvm-mca calls and returns are now instructions like others: it would warn of them on stderr, and take 100 cycles for a call.
  class PlainCalls final : public MCInstrAnalysis {
  public:
    PlainCalls(const MCInstrInfo &Info, std::unique_ptr<MCInstrAnalysis> OfTarget) : MCInstrAnalysis(&Info), OfTarget(std::move(OfTarget)) {}

    bool isCall(const MCInst &) const override { return false; }
    bool isReturn(const MCInst &) const override { return false; }
    bool clearsSuperRegisters(const MCRegisterInfo &MRI, const MCInst &Inst, APInt &Writes) const override {
      return OfTarget->clearsSuperRegisters(MRI, Inst, Writes);
    }
    bool isZeroIdiom(const MCInst &Inst, APInt &Mask, unsigned CpuId) const override { return OfTarget->isZeroIdiom(Inst, Mask, CpuId); }
    bool isDependencyBreaking(const MCInst &Inst, APInt &Mask, unsigned CpuId) const override {
      return OfTarget->isDependencyBreaking(Inst, Mask, CpuId);
    }
    bool isOptimizableRegisterMove(const MCInst &Inst, unsigned CpuId) const override { return OfTarget->isOptimizableRegisterMove(Inst, CpuId); }

  private:
    std::unique_ptr<MCInstrAnalysis> OfTarget;
  };

  using Sequence = SmallVector<std::unique_ptr<mca::Instruction>, 0>;

  Sequence build(ArrayRef<MCInst> Code, unsigned &Unknown) {
    Sequence Result;
    PostProcess->resetState();
    for (const MCInst &Inst : Code) {
      auto Built = Builder.createInstruction(Inst, {});
      if (!Built) {
        consumeError(Built.takeError());
        ++Unknown;
        continue;
      }
      PostProcess->postProcessInstruction(**Built, Inst);
      Result.push_back(std::move(*Built));
    }
    return Result;
  }

  double simulate(const Sequence &Code, unsigned Runs) {
    mca::CircularSourceMgr Source(Code, Runs);
    auto Behaviour = orDefault(T.createCustomBehaviour(Subtarget, Source, Instructions), Subtarget, Source, Instructions);
    mca::Context Hardware(Registers, Subtarget);
    mca::PipelineOptions AsModelled(0, 0, 0, 0, 0, 0, /*NoAlias=*/true);
    auto Cycles = Hardware.createDefaultPipeline(AsModelled, Source, *Behaviour)->run();
    if (Cycles)
      return *Cycles;
    consumeError(Cycles.takeError());
    return Code.size() * Runs;
  }

  const Target &T;
  const MCSubtargetInfo &Subtarget;
  const MCInstrInfo &Instructions;
  const MCRegisterInfo &Registers;
  PlainCalls Analysis;
  std::unique_ptr<mca::InstrumentManager> Instruments;
  std::unique_ptr<mca::InstrPostProcess> PostProcess;
  mca::InstrBuilder Builder; // keeps what it found out of each opcode
};

BlockSimulator::BlockSimulator(std::unique_ptr<Impl> I) : Self(std::move(I)) {}
BlockSimulator::~BlockSimulator() = default;

Expected<std::unique_ptr<BlockSimulator>> BlockSimulator::create(const TargetMachine &TM) {
  StringRef Cpu = TM.getMCSubtargetInfo()->getCPU();
  if (!TM.getMCSubtargetInfo()->getSchedModel().hasInstrSchedModel())
    return createStringError("target " + TM.getTargetTriple().str() + ": cpu '" + (Cpu.empty() ? "generic" : Cpu) +
                             "' has no scheduling model, so its throughput cannot be told");
  return std::unique_ptr<BlockSimulator>(new BlockSimulator(std::make_unique<Impl>(TM)));
}

double BlockSimulator::cycles(ArrayRef<MCInst> Code) { return Self->cycles(Code); }

} // namespace mlcb::measure
