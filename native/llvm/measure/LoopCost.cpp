// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/LoopCost.h"

#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"

#include <cmath>

using namespace llvm;

namespace mlcb::measure {

namespace {

constexpr double Elements = 1024; // of a loop with an unknown number of iterations
constexpr double LeftOver = 2;    // iterations of what comes after a vectorized loop

/// Knows the loops of one function.
class FunctionMeter {
public:
  FunctionMeter(Function &F, FunctionAnalysisManager &Functions)
      : F(F), LI(Functions.getResult<LoopAnalysis>(F)), SE(Functions.getResult<ScalarEvolutionAnalysis>(F)),
        TTI(Functions.getResult<TargetIRAnalysis>(F)), Frequencies(Functions.getResult<BlockFrequencyAnalysis>(F)) {}

  double cost() {
    double Sum = 0;
    for (BasicBlock &BB : F)
      if (const Loop *L = LI.getLoopFor(&BB))
        Sum += runs(*L) * share(BB, *L) * costOf(BB);
    return Sum;
  }

private:
  double costOf(const BasicBlock &BB) const {
    InstructionCost Sum = 0;
    for (const Instruction &I : BB)
      Sum += TTI.getInstructionCost(&I, TargetTransformInfo::TCK_RecipThroughput);
    return Sum.isValid() ? static_cast<double>(Sum.getValue()) : 0;
  }

  /// In how many of a loop's iterations a block runs.
  double share(const BasicBlock &BB, const Loop &L) const {
    const double Whole = Frequencies.getBlockFreq(L.getHeader()).getFrequency();
    return Whole > 0 ? Frequencies.getBlockFreq(&BB).getFrequency() / Whole : 1;
  }

  double runs(const Loop &L) { return iterations(L) * (L.getParentLoop() ? runs(*L.getParentLoop()) : 1); }

  double iterations(const Loop &L) {
    if (findOptionMDForLoop(&L, "mlcb.loop.whole"))
      return 0;
    if (const unsigned Known = SE.getSmallConstantTripCount(&L))
      return Known;
    const double Step = step(L);
    if (Step == 1 && findOptionMDForLoop(&L, "llvm.loop.isvectorized"))
      return LeftOver;
    if (const unsigned Most = SE.getSmallConstantMaxTripCount(&L))
      return std::min(Most / 2.0, Elements / Step);
    return Elements / Step;
  }

  double step(const Loop &L) {
    const auto Bounds = L.getBounds(SE);
    const auto *Step = Bounds ? dyn_cast_or_null<ConstantInt>(Bounds->getStepValue()) : nullptr;
    return Step && !Step->isZero() ? std::abs(static_cast<double>(Step->getSExtValue())) : 1;
  }

  Function &F;
  LoopInfo &LI;
  ScalarEvolution &SE;
  TargetTransformInfo &TTI;
  BlockFrequencyInfo &Frequencies;
};

} // namespace

double loopCost(Module &M, TargetMachine &Machine) {
  PassBuilder Builder(&Machine);
  FunctionAnalysisManager Functions;
  ModuleAnalysisManager Modules;
  Builder.registerModuleAnalyses(Modules);
  Builder.registerFunctionAnalyses(Functions);
  Functions.registerPass([&] { return ModuleAnalysisManagerFunctionProxy(Modules); });
  Modules.registerPass([&] { return FunctionAnalysisManagerModuleProxy(Functions); });
  double Sum = 0;
  for (Function &F : M)
    if (!F.isDeclaration() && !F.hasOptNone())
      Sum += FunctionMeter(F, Functions).cost();
  return Sum;
}

} // namespace mlcb::measure
