// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/AllocationCost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

#include <utility>

using namespace llvm;

namespace mlcb::measure {

namespace {

double costOf(const MachineInstr &MI, const TargetInstrInfo &Target) {
  if (MI.isDebugInstr() || MI.isKill() || MI.isInlineAsm())
    return 0;
  if (MI.isCopy())
    return CopyWeight;
  if (Target.isTriviallyReMaterializable(MI))
    return MI.getDesc().isAsCheapAsAMove() ? CheapRematWeight : ExpensiveRematWeight;
  return MI.mayLoad() * LoadWeight + MI.mayStore() * StoreWeight;
}

class Listener final : public ImmutablePass {
public:
  static char ID;
  explicit Listener(AllocationListener OnFunction = {}) : ImmutablePass(ID), OnFunction(std::move(OnFunction)) {}

  AllocationListener OnFunction;
  AllocationCosts Costs; // of the function that is compiled
};

class Tap : public MachineFunctionPass {
protected:
  using MachineFunctionPass::MachineFunctionPass;

  double cost(const MachineFunction &MF) { return allocationCost(MF, getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI()); }

private:
  void getAnalysisUsage(AnalysisUsage &AU) const override {
    AU.setPreservesAll();
    AU.addRequired<Listener>();
    AU.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    MachineFunctionPass::getAnalysisUsage(AU);
  }
};

class AllocationTap final : public Tap {
public:
  static char ID;
  AllocationTap() : Tap(ID) {}

private:
  StringRef getPassName() const override { return "allocation tap"; }
  bool runOnMachineFunction(MachineFunction &MF) override {
    auto &Hearing = getAnalysis<Listener>();
    Hearing.Costs.Spills = spills(MF);
    Hearing.Costs.Allocated = cost(MF);
    return false;
  }
};

class ExecutionTap final : public Tap {
public:
  static char ID;
  ExecutionTap() : Tap(ID) {}

private:
  StringRef getPassName() const override { return "execution tap"; }
  bool runOnMachineFunction(MachineFunction &MF) override {
    auto &Hearing = getAnalysis<Listener>();
    Hearing.Costs.Executed = cost(MF);
    Hearing.OnFunction(MF, std::exchange(Hearing.Costs, {}));
    return false;
  }
};

char Listener::ID = 0, AllocationTap::ID = 0, ExecutionTap::ID = 0;
const RegisterPass<Listener> RegisteredListener("mlcb-allocation-listener", "what allocations cost", false, true);
const RegisterPass<AllocationTap> RegisteredTap("mlcb-allocation-tap", "what an allocation costs", true, true);
const RegisterPass<ExecutionTap> RegisteredLastTap("mlcb-execution-tap", "what an allocation costs with its saves and restores", true, true);

} // namespace

char &AllocationTapID = AllocationTap::ID;
char &ExecutionTapID = ExecutionTap::ID;

double allocationCost(const MachineFunction &MF, const MachineBlockFrequencyInfo &Frequencies) {
  const TargetInstrInfo &Target = *MF.getSubtarget().getInstrInfo();
  double Total = 0;
  for (const MachineBasicBlock &MBB : MF) {
    double OneRun = 0;
    for (const MachineInstr &MI : MBB)
      OneRun += costOf(MI, Target);
    Total += OneRun * Frequencies.getBlockFreqRelativeToEntryBlock(&MBB);
  }
  return Total;
}

int64_t spills(const MachineFunction &MF) {
  const auto IsSpillSlot = [&](const MachineMemOperand *Accessed) {
    const auto *Slot = dyn_cast_if_present<FixedStackPseudoSourceValue>(Accessed->getPseudoValue());
    return Slot && MF.getFrameInfo().isSpillSlotObjectIndex(Slot->getFrameIndex());
  };
  int64_t Total = 0;
  for (const MachineBasicBlock &MBB : MF)
    Total += count_if(MBB, [&](const MachineInstr &MI) { return any_of(MI.memoperands(), IsSpillSlot); });
  return Total;
}

std::unique_ptr<Pass> createAllocationListener(AllocationListener OnFunction) { return std::make_unique<Listener>(std::move(OnFunction)); }

} // namespace mlcb::measure
