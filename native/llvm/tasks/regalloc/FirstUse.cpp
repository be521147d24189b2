// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of a first callee-saved register, function by function.
#include "llvm/tasks/regalloc/AdvisorSwap.h"
#include "llvm/tasks/regalloc/FixedAllocators.h"

#include "llvm/CodeGen/EdgeBundles.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/SpillPlacement.h"
#include "llvm/InitializePasses.h"

using namespace llvm;

namespace mlcb {

namespace {

/// Sets LLVM's option, which the allocator reads anew for each function.
class FirstUse final : public MachineFunctionPass {
public:
  static char ID;
  FirstUse() : MachineFunctionPass(ID) {}

private:
  StringRef getPassName() const override { return "cost of a first callee-saved register"; }
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
  bool runOnMachineFunction(MachineFunction &MF) override {
    Held.reset();
    Held.emplace(firstUseOf(MF.getFunction()));
    return false;
  }
  bool doFinalization(Module &) override {
    Held.reset();
    return false;
  }

  std::optional<FirstUseScope> Held;
};

char FirstUse::ID = 0;
const RegisterPass<FirstUse> Registered("mlcb-first-use", "cost of a first callee-saved register", true, true);

/// An analysis that nobody but the allocator requires: what it requires itself runs before the allocator.
class SpillPlacementAfterFirstUse final : public SpillPlacementWrapperLegacy {
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    AU.addRequiredTransitive<EdgeBundlesWrapperLegacy>();
    AU.addRequiredTransitive<FirstUse>();
    // NOLINTNEXTLINE(bugprone-parent-virtual-call): what SpillPlacement requires is listed above, in this order
    MachineFunctionPass::getAnalysisUsage(AU);
  }
};

const AdvisorSwap<SpillPlacementWrapperLegacy, SpillPlacementAfterFirstUse> SwapSpillPlacement(initializeSpillPlacementWrapperLegacyPass,
                                                                                               "regalloc-csr-first-time-cost");

} // namespace

} // namespace mlcb
