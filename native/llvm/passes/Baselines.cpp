// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/Baselines.h"

#include "llvm/measure/LoopCost.h"
#include "llvm/passes/Activity.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace mlcb {

Baseline BaselineMeter::after(StringRef Pipeline, const Module &M) {
  measure::Key Known = key("sizes", Pipeline);
  if (Cache)
    if (auto Found = Cache->find<Baseline>(Known))
      return *Found;
  Activity Now("the measurement of the baselines");
  std::unique_ptr<Module> Done = clone(Pipeline, M);
  measure::Size Size = Target.size(*Done);
  Baseline Result{Size.Allocated, Size.Text, Done->getInstructionCount()};
  if (Cache)
    Cache->insert(Known, Result);
  return Result;
}

Expected<double> BaselineMeter::throughputAfter(StringRef Pipeline, const Module &M) {
  measure::Key Known = key("throughput", Pipeline);
  if (Cache)
    if (auto Found = Cache->find<double>(Known))
      return *Found;
  Activity Now("the measurement of the baselines");
  llvm::Expected<double> Cycles = Target.throughput(*clone(Pipeline, M));
  if (!Cycles)
    return fail(ErrorKind::InvalidArgument, toString(Cycles.takeError()));
  if (Cache)
    Cache->insert(Known, *Cycles);
  return *Cycles;
}

double BaselineMeter::loopCostAfter(StringRef Pipeline, const Module &M) {
  measure::Key Known = key("loop cost", Pipeline);
  if (Cache)
    if (auto Found = Cache->find<double>(Known))
      return *Found;
  Activity Now("the measurement of the baselines");
  const double Cost = measure::loopCost(*clone(Pipeline, M), Target.targetMachine());
  if (Cache)
    Cache->insert(Known, Cost);
  return Cost;
}

measure::Key BaselineMeter::key(StringRef What, StringRef Pipeline) const {
  TargetMachine &Machine = Target.targetMachine();
  std::string Text =
      join_items('\n', "baselines", What, Pipeline, Program, Machine.getTargetTriple().str(), Machine.getTargetCPU());
  return measure::hashBytes(arrayRefFromStringRef(Text));
}

std::unique_ptr<Module> BaselineMeter::clone(StringRef Pipeline, const Module &M) {
  std::unique_ptr<Module> Clone = CloneModule(M);
  Runner.run(Pipeline, *Clone);
  return Clone;
}

} // namespace mlcb
