// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/observe/Properties.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/FunctionPropertiesAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Support/CommandLine.h"

#include <array>

using namespace llvm;

namespace llvm {
extern cl::opt<bool> EnableDetailedFunctionProperties; // of FunctionPropertiesAnalysis.cpp; exported, in no header
}

namespace mlcb {

using Info = FunctionPropertiesInfo;

static constexpr std::array Fields = {
    &Info::BasicBlockCount,
    &Info::BlocksReachedFromConditionalInstruction,
    &Info::Uses,
    &Info::DirectCallsToDefinedFunctions,
    &Info::LoadInstCount,
    &Info::StoreInstCount,
    &Info::MaxLoopDepth,
    &Info::TopLevelLoopCount,
    &Info::TotalInstructionCount,
    &Info::BasicBlocksWithSingleSuccessor,
    &Info::BasicBlocksWithTwoSuccessors,
    &Info::BasicBlocksWithMoreThanTwoSuccessors,
    &Info::BasicBlocksWithSinglePredecessor,
    &Info::BasicBlocksWithTwoPredecessors,
    &Info::BasicBlocksWithMoreThanTwoPredecessors,
    &Info::BigBasicBlocks,
    &Info::MediumBasicBlocks,
    &Info::SmallBasicBlocks,
    &Info::CastInstructionCount,
    &Info::FloatingPointInstructionCount,
    &Info::IntegerInstructionCount,
    &Info::ConstantIntOperandCount,
    &Info::ConstantFPOperandCount,
    &Info::ConstantOperandCount,
    &Info::InstructionOperandCount,
    &Info::BasicBlockOperandCount,
    &Info::GlobalValueOperandCount,
    &Info::InlineAsmOperandCount,
    &Info::ArgumentOperandCount,
    &Info::UnknownOperandCount,
    &Info::CriticalEdgeCount,
    &Info::ControlFlowEdgeCount,
    &Info::UnconditionalBranchCount,
    &Info::ConditionalBranchCount,
    &Info::BranchInstructionCount,
    &Info::BranchSuccessorCount,
    &Info::SwitchInstructionCount,
    &Info::SwitchSuccessorCount,
    &Info::IntrinsicCount,
    &Info::DirectCallCount,
    &Info::IndirectCallCount,
    &Info::CallReturnsIntegerCount,
    &Info::CallReturnsFloatCount,
    &Info::CallReturnsPointerCount,
    &Info::CallReturnsVectorIntCount,
    &Info::CallReturnsVectorFloatCount,
    &Info::CallReturnsVectorPointerCount,
    &Info::CallWithManyArgumentsCount,
    &Info::CallWithPointerArgumentCount,
};
static_assert(Fields.size() == NumProperties);
static_assert(sizeof(Info) == sizeof(ir2vec::Embedding) + sizeof(void *) + NumProperties * sizeof(int64_t),
              "FunctionPropertiesInfo has other fields than this list");

void addProperties(Function &F, std::span<int64_t> Sum) {
  // For good: of several threads that observe, none may find it reset by another.
  [[maybe_unused]] static const bool IsDetailed = (EnableDetailedFunctionProperties = true);
  // Analyses of our own: asking the pass manager's would leave results behind that some passes use when they find them,
  // and observing would change what is compiled.
  DominatorTree Dominators(F);
  LoopInfo Loops(Dominators);
  Info Properties = Info::getFunctionPropertiesInfo(F, Dominators, Loops, /*Vocabulary=*/nullptr);
  for (auto [Total, Field] : zip(Sum, Fields))
    Total += Properties.*Field;
}

} // namespace mlcb
