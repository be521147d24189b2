// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/Baselines.h"

#include "llvm/passes/Activity.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace mlcb {

Baselines BaselineMeter::sizes(const Module &M) {
  measure::Key Known = key("sizes");
  if (Cache)
    if (auto Found = Cache->find<Baselines>(Known))
      return *Found;
  Activity Now("the measurement of the baselines");
  std::unique_ptr<Module> Oz = after("default<Oz>", M);
  measure::Size SizeOz = Target.size(*Oz);
  Baselines Result{Target.size(*after("always-inline", M)).Allocated, SizeOz.Allocated, SizeOz.Text,
                   Oz->getInstructionCount()};
  if (Cache)
    Cache->insert(Known, Result);
  return Result;
}

Expected<double> BaselineMeter::throughputOz(const Module &M) {
  measure::Key Known = key("throughput");
  if (Cache)
    if (auto Found = Cache->find<double>(Known))
      return *Found;
  Activity Now("the measurement of the baselines");
  llvm::Expected<double> Cycles = Target.throughput(*after("default<Oz>", M));
  if (!Cycles)
    return fail(ErrorKind::InvalidArgument, toString(Cycles.takeError()));
  if (Cache)
    Cache->insert(Known, *Cycles);
  return *Cycles;
}

measure::Key BaselineMeter::key(StringRef What) const {
  TargetMachine &Machine = Target.targetMachine();
  std::string Text =
      join_items('\n', "baselines", What, Program, Machine.getTargetTriple().str(), Machine.getTargetCPU());
  return measure::hashBytes(arrayRefFromStringRef(Text));
}

std::unique_ptr<Module> BaselineMeter::after(StringRef Pipeline, const Module &M) {
  std::unique_ptr<Module> Clone = CloneModule(M);
  Runner.run(Pipeline, *Clone);
  return Clone;
}

} // namespace mlcb
