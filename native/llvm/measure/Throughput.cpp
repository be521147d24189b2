// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/Throughput.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/IR/Module.h"
#include "llvm/measure/CallCounts.h"
#include "llvm/measure/HashStream.h"

using namespace llvm;

namespace mlcb::measure {

Expected<std::unique_ptr<ThroughputMeter>> ThroughputMeter::create(TargetMachine &TM, SharedCache &Cache, Key Target) {
  auto Simulator = BlockSimulator::create(TM);
  if (!Simulator)
    return Simulator.takeError();
  auto Generator = BlockGenerator::create(TM);
  if (!Generator)
    return Generator.takeError();
  return std::unique_ptr<ThroughputMeter>(new ThroughputMeter(std::move(*Generator), std::move(*Simulator), Cache, Target));
}

/// All that a scheduling model can see: of symbols, only that there is one.
static void add(HashStream &S, const MCInst &Inst) {
  S.add(Inst.getOpcode());
  S.add(Inst.getFlags());
  S.add(Inst.getNumOperands());
  for (const MCOperand &Operand : Inst) {
    S.add(Operand.isReg() | Operand.isImm() << 1 | Operand.isSFPImm() << 2 | Operand.isDFPImm() << 3 | Operand.isInst() << 4);
    if (Operand.isReg())
      S.add(Operand.getReg().id());
    else if (Operand.isImm())
      S.add(Operand.getImm());
    else if (Operand.isSFPImm())
      S.add(Operand.getSFPImm());
    else if (Operand.isDFPImm())
      S.add(Operand.getDFPImm());
    else if (Operand.isInst())
      add(S, *Operand.getInst());
  }
}

double ThroughputMeter::cycles(ArrayRef<MCInst> Code) {
  HashStream S;
  S.add(Target);
  for (const MCInst &Inst : Code)
    add(S, Inst);
  Key K = relabel(S.hash(), "block");
  if (auto Known = Cache.find<double>(K))
    return *Known;
  double Cycles = Simulator->cycles(Code);
  Cache.insert(K, Cycles);
  return Cycles;
}

/// Functions that others may drop when nothing here uses them (static, or inline in C++) are only called from here: else it would pay to
/// inline the last call.
static bool isCalledFromOutside(const Function &F) { return !F.isDeclarationForLinker() && (!F.isDiscardableIfUnused() || F.hasAddressTaken()); }

namespace {
struct FunctionCost {
  CallNode Node;
  double Cycles = 0; // of one run, callees excluded
};
} // namespace

double ThroughputMeter::cycles(Module &M) {
  DenseMap<const Function *, std::unique_ptr<FunctionCost>> CostOf;
  auto costOf = [&](const Function *F) -> FunctionCost & {
    std::unique_ptr<FunctionCost> &Cost = CostOf[F];
    if (!Cost)
      Cost = std::make_unique<FunctionCost>();
    return *Cost;
  };
  CallNode Outside;
  for (const Function &F : M)
    if (isCalledFromOutside(F))
      Outside.Calls.push_back({&costOf(&F).Node, 1});
  Generator->run(M, [&](const Function &F, ArrayRef<CodeBlock> Blocks) {
    FunctionCost &Cost = costOf(&F);
    for (const CodeBlock &Block : Blocks) {
      Cost.Cycles += Block.Frequency * cycles(Block.Instructions);
      for (const Function *Callee : Block.Callees)
        Cost.Node.Calls.push_back({&costOf(Callee).Node, Block.Frequency});
    }
  });
  countCalls(Outside);
  double Sum = 0;
  for (const Function &F : M) // in this order: a sum of doubles depends on it
    if (auto Cost = CostOf.find(&F); Cost != CostOf.end())
      Sum += Cost->second->Node.Count * Cost->second->Cycles;
  return Sum;
}

} // namespace mlcb::measure
