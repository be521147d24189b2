// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/Baselines.h"

#include "llvm/measure/LoopCost.h"
#include "llvm/measure/Measure.h"
#include "llvm/process/CurrentActivity.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace mlcb {

Baseline BaselineMeter::after(StringRef Pipeline, const Module &M) {
  return *cached<Baseline>("sizes", Pipeline, M, [this](Module &Done) -> Expected<Baseline> {
    measure::Size Size = Target.size(Done);
    return Baseline{Size.Allocated, Size.Text, Done.getInstructionCount()};
  });
}

Expected<double> BaselineMeter::throughputAfter(StringRef Pipeline, const Module &M) {
  return cached<double>("throughput", Pipeline, M, [this](Module &Done) -> Expected<double> {
    llvm::Expected<double> Cycles = Target.throughput(Done);
    return Cycles ? Expected<double>(*Cycles) : fail(ErrorKind::InvalidArgument, toString(Cycles.takeError()));
  });
}

double BaselineMeter::loopCostAfter(StringRef Pipeline, const Module &M) {
  return *cached<double>("loop cost", Pipeline, M,
                         [this](Module &Done) -> Expected<double> { return measure::loopCost(Done, Target.targetMachine()); });
}

template <class T> Expected<T> BaselineMeter::cached(StringRef What, StringRef Pipeline, const Module &M, function_ref<Expected<T>(Module &)> Make) {
  const measure::Key Known = key(What, Pipeline);
  if (Cache)
    if (auto Found = Cache->find<T>(Known))
      return *Found;
  CurrentActivity Now("the measurement of the baselines");
  Expected<T> Result = Make(*clone(Pipeline, M));
  if (Cache && Result)
    Cache->insert(Known, *Result);
  return Result;
}

measure::Key BaselineMeter::key(StringRef What, StringRef Pipeline) const {
  TargetMachine &Machine = Target.targetMachine();
  std::string Text = join_items('\n', "baselines", What, Pipeline, Program, Machine.getTargetTriple().str(), Machine.getTargetCPU());
  return measure::hashBytes(arrayRefFromStringRef(Text));
}

std::unique_ptr<Module> BaselineMeter::clone(StringRef Pipeline, const Module &M) {
  std::unique_ptr<Module> Clone = CloneModule(M);
  Runner.run(Pipeline, *Clone);
  return Clone;
}

} // namespace mlcb
