// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/Observation.h"

#include "spec/Tasks.h"
#include "llvm/observe/Embedding.h"
#include "llvm/observe/Properties.h"
#include "llvm/tasks/function_size/AttributeChange.h"
#include "llvm/tasks/function_size/TailCalls.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

using Feature = function_size::advisor;

namespace {

static_assert(NumEntities == 110, "as function_size.def says");

/// In the order of the declaration.
enum Constant { Zero, One, MinusOne, Byte, Word, Longer };
enum Call { ToModule, ToOthers, ToPointers, ToIntrinsics, MarkedTail, InTailPosition, ManyArguments, Arguments, Pointers };

Constant constantOf(const APInt &Value) {
  if (Value.isZero())
    return Zero;
  if (Value.isOne())
    return One;
  if (Value.isAllOnes())
    return MinusOne;
  return Value.isSignedIntN(8) ? Byte : Value.isSignedIntN(32) ? Word : Longer;
}

size_t widthOf(const Type &Integer) {
  const unsigned Bits = Integer.getIntegerBitWidth();
  return Bits == 1 ? 0 : Bits <= 8 ? 1 : Bits <= 16 ? 2 : Bits <= 32 ? 3 : Bits <= 64 ? 4 : 5;
}

class Counter {
public:
  explicit Counter(ModelRunner &Policy)
      : Constants(zeroed(Policy, Feature::constants)), Widths(zeroed(Policy, Feature::widths)), Calls(zeroed(Policy, Feature::calls)) {}

  void add(const Instruction &I) {
    if (I.getType()->isIntegerTy())
      ++Widths[widthOf(*I.getType())];
    for (const Use &Operand : I.operands())
      if (const auto *Integer = dyn_cast<ConstantInt>(Operand))
        ++Constants[constantOf(Integer->getValue())];
    if (const auto *Call = dyn_cast<CallBase>(&I))
      addCall(*Call);
  }

private:
  static std::span<int64_t> zeroed(ModelRunner &Policy, Feature F) {
    const std::span<int64_t> Values = Policy.tensor<int64_t>(F);
    std::ranges::fill(Values, 0);
    return Values;
  }

  void addCall(const CallBase &Call) {
    if (isa<IntrinsicInst>(Call)) {
      ++Calls[ToIntrinsics];
      return;
    }
    const Function *Callee = Call.getCalledFunction();
    ++Calls[!Callee ? ToPointers : Callee->isDeclaration() ? ToOthers : ToModule];
    if (const auto *Plain = dyn_cast<CallInst>(&Call)) {
      Calls[MarkedTail] += Plain->isTailCall();
      Calls[InTailPosition] += isInTailPosition(*Plain);
    }
    Calls[ManyArguments] += Call.arg_size() > 6;
    Calls[Arguments] += Call.arg_size();
    Calls[Pointers] += count_if(Call.args(), [](const Value *V) { return V->getType()->isPointerTy(); });
  }

  std::span<int64_t> Constants, Widths, Calls;
};

int64_t bytesOnStack(const Function &F) {
  int64_t Bytes = 0;
  for (const Instruction &I : instructions(F))
    if (const auto *Room = dyn_cast<AllocaInst>(&I))
      if (const auto Size = Room->getAllocationSize(F.getDataLayout()); Size && !Size->isScalable())
        Bytes += static_cast<int64_t>(std::min<uint64_t>(Size->getFixedValue(), 1'000'000));
  return std::min<int64_t>(Bytes, 1'000'000'000);
}

} // namespace

void observeFunction(ModelRunner &Policy, Function &F, ModuleTotals Of) {
  const std::span<int64_t> Properties = Policy.tensor<int64_t>(Feature::properties);
  std::ranges::fill(Properties, 0);
  addProperties(F, Properties);

  EntityCounts Entities;
  Entities.addSymbolic(F);
  std::ranges::transform(Entities.counts(), Policy.tensor<int64_t>(Feature::entities).begin(), [](double N) { return static_cast<int64_t>(N); });

  Counter Counted(Policy);
  for (const Instruction &I : instructions(F))
    Counted.add(I);

  const int64_t Own[] = {
      static_cast<int64_t>(F.arg_size()),
      F.getNumUses(),
      bytesOnStack(F),
      static_cast<int64_t>(F.getEntryBlock().size()),
      F.hasLocalLinkage(),
      F.isDiscardableIfUnused(),
      !F.doesNotThrow(),
      F.needsUnwindTableEntry(),
      !F.doesNotRecurse(),
      F.isVarArg(),
      F.getReturnType()->isVoidTy(),
      hasInlineAssembly(F),
      F.onlyReadsMemory(),
      F.getCallingConv() != CallingConv::C,
  };
  std::ranges::copy(Own, Policy.tensor<int64_t>(Feature::function).begin());
  Policy.tensor<int64_t>(Feature::functions)[0] = Of.Functions;
  const std::span<int64_t> Instructions = Policy.tensor<int64_t>(Feature::instructions);
  Instructions[0] = F.getInstructionCount();
  Instructions[1] = Of.Instructions;
}

} // namespace mlcb
