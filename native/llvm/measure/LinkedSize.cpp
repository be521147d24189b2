// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/LinkedSize.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb::measure {

// Of 64-bit ELF.
static constexpr uint64_t FrameTableEntry = 8, Relocation = 24, Slot = 8, Stub = 16;

static bool isCall(const Use &U) {
  const auto *Call = dyn_cast<CallBase>(U.getUser());
  return Call && Call->isCallee(&U);
}

static bool isCalled(const Function &F) { return any_of(F.uses(), isCall); }

static bool isAddressTaken(const GlobalValue &G) {
  return any_of(G.uses(), [](const Use &U) { return isa<Instruction>(U.getUser()) && !isCall(U); });
}

/// Addresses in the initial value of a global.
static uint64_t countAddresses(const Constant &C) {
  if (isa<GlobalValue, BlockAddress>(C)) // of which the latter holds a block, no constant
    return 1;
  // The difference of two is known when the file is linked.
  if (const auto *Computed = dyn_cast<ConstantExpr>(&C); Computed && Computed->getOpcode() == Instruction::Sub)
    return 0;
  uint64_t Found = 0;
  for (const Use &Part : C.operands())
    Found += countAddresses(*cast<Constant>(Part));
  return Found;
}

uint64_t linkedSize(const Module &M, uint64_t ObjectBytes) {
  uint64_t Bytes = ObjectBytes;
  for (const Function &F : M) {
    if (!F.isDeclarationForLinker())
      Bytes += FrameTableEntry;
    if (!F.isDSOLocal() && !F.isIntrinsic() && isCalled(F))
      Bytes += Stub + Slot + Relocation;
  }
  if (M.getPICLevel() == PICLevel::NotPIC)
    return Bytes;
  for (const GlobalValue &G : M.global_values())
    if (!G.isDSOLocal() && isAddressTaken(G))
      Bytes += Slot + Relocation;
  for (const GlobalVariable &G : M.globals())
    if (G.hasInitializer())
      Bytes += Relocation * countAddresses(*G.getInitializer());
  return Bytes;
}

} // namespace mlcb::measure
