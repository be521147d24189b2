// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/Optimizations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace mlcb {

static constexpr StringLiteral Profiling[] = {
    "MemProfUsePass", "PGOInstrumentationGen", "PGOInstrumentationUse", "SampleProfileLoaderPass", "SampleProfileProbePass",
};

bool isOptimization(StringRef Class) {
  static const StringSet<> Optimizations = {
      "ADCEPass",
      "AggressiveInstCombinePass",
      "AlignmentFromAssumptionsPass",
      "ArgumentPromotionPass",
      "BDCEPass",
      "CallSiteSplittingPass",
      "CalledValuePropagationPass",
      "ConstantMergePass",
      "ConstraintEliminationPass",
      "ControlHeightReductionPass",
      "CorrelatedValuePropagationPass",
      "DFAJumpThreadingPass",
      "DSEPass",
      "DeadArgumentEliminationPass",
      "DivRemPairsPass",
      "DropUnnecessaryAssumesPass",
      "EarlyCSEPass",
      "EliminateAvailableExternallyPass",
      "Float2IntPass",
      "GVNHoistPass",
      "GVNPass",
      "GVNSinkPass",
      "GlobalDCEPass",
      "GlobalOptPass",
      "HotColdSplittingPass",
      "IPSCCPPass",
      "IROutlinerPass",
      "IndVarSimplifyPass",
      "InferAlignmentPass",
      "InferFunctionAttrsPass",
      "InjectTLIMappings",
      "InlinerPass",
      "InstCombinePass",
      "InstSimplifyPass",
      "JumpThreadingPass",
      "LCSSAPass",
      "LICMPass",
      "LibCallsShrinkWrapPass",
      "LoopDeletionPass",
      "LoopDistributePass",
      "LoopFlattenPass",
      "LoopFullUnrollPass",
      "LoopIdiomRecognizePass",
      "LoopInstSimplifyPass",
      "LoopInterchangePass",
      "LoopLoadEliminationPass",
      "LoopRotatePass",
      "LoopSimplifyCFGPass",
      "LoopSimplifyPass",
      "LoopSinkPass",
      "LoopUnrollAndJamPass",
      "LoopUnrollPass",
      "LoopVectorizePass",
      "LowerConstantIntrinsicsPass",
      "LowerExpectIntrinsicPass",
      "MemCpyOptPass",
      "MergeFunctionsPass",
      "MergedLoadStoreMotionPass",
      "ModuleInlinerPass",
      "MoveAutoInitPass",
      "NewGVNPass",
      "OpenMPOptCGSCCPass",
      "OpenMPOptPass",
      "PartialInlinerPass",
      "PostOrderFunctionAttrsPass",
      "PromotePass",
      "ReassociatePass",
      "RecomputeGlobalsAAPass",
      "ReversePostOrderFunctionAttrsPass",
      "SCCPPass",
      "SLPVectorizerPass",
      "SROAPass",
      "SimpleLoopUnswitchPass",
      "SimplifyCFGPass",
      "SpeculativeExecutionPass",
      "TailCallElimPass",
      "VectorCombinePass",
      "WarnMissedTransformationsPass",
  };
  return Optimizations.contains(Class);
}

bool isProfiling(StringRef Class) { return is_contained(Profiling, Class); }

} // namespace mlcb
