// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/loops/LoopDistributionPass.h"

#include "llvm/loops/Distribute.h"
#include "llvm/loops/FixedAnswer.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;

namespace mlcb {

namespace {

constexpr char Name[] = "mlcb-loop-distribute";

/// The analyses that a pass preserves that changes loops.
PreservedAnalyses changedLoops() {
  PreservedAnalyses Kept;
  Kept.preserve<LoopAnalysis>();
  Kept.preserve<DominatorTreeAnalysis>();
  Kept.preserve<ScalarEvolutionAnalysis>();
  return Kept;
}

/// The option for the loops of a compiler's own pipelines.
struct AnswerParser : cl::parser<std::optional<loops::FixedAnswer>> {
  using parser::parser;

  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): cl::opt calls it by its name
  bool parse(cl::Option &Option, StringRef, StringRef Text, std::optional<loops::FixedAnswer> &Parsed) {
    auto Answer = loops::FixedAnswer::parse(Text);
    if (!Answer)
      return Option.error(toString(Answer.takeError()));
    Parsed = *Answer;
    return false;
  }
};
static cl::opt<std::optional<loops::FixedAnswer>, false, AnswerParser>
    HostAnswer("mlcb-loops", cl::desc("distribute loops before they are vectorized: never, always, cuts=MASK or random=SEED"),
               cl::value_desc("answer"));

/// As the vectorizer's own loop passes would do at once. Whether anything has changed.
bool simplify(Function &F, FunctionAnalysisManager &Functions) {
  auto &LI = Functions.getResult<LoopAnalysis>(F);
  bool Changed = false;
  for (Loop *L : LI)
    Changed |= simplifyLoop(L, &Functions.getResult<DominatorTreeAnalysis>(F), &LI, &Functions.getResult<ScalarEvolutionAnalysis>(F),
                            &Functions.getResult<AssumptionAnalysis>(F), nullptr, /*PreserveLCSSA=*/false);
  if (Changed)
    Functions.invalidate(F, changedLoops());
  return Changed;
}

SmallVector<Loop *> innermost(LoopInfo &LI) {
  SmallVector<Loop *> Loops;
  copy_if(LI.getLoopsInPreorder(), std::back_inserter(Loops), [](const Loop *L) { return L->isInnermost(); });
  return Loops;
}

void remark(OptimizationRemarkEmitter &Remarks, const Loop &L, loops::Refusal Why) {
  Remarks.emit([&] {
    return OptimizationRemarkMissed(Name, loops::nameOf(Why), L.getStartLoc(), L.getHeader()) << "loop not distributed: " << loops::describe(Why);
  });
}

void remark(OptimizationRemarkEmitter &Remarks, const loops::DependenceGraph &G, const loops::Partition &PartOf) {
  const Loop &L = G.body().loop();
  Remarks.emit([&] {
    return OptimizationRemark(Name, "distributed", L.getStartLoc(), L.getHeader())
           << "loop of " << ore::NV("Nodes", G.nodes().size()) << " nodes: " << ore::NV("Parts", 1 + *max_element(PartOf)) << " parts, "
           << ore::NV("Checks", G.checksFor(PartOf).size()) << " checks";
  });
}

} // namespace

PreservedAnalyses LoopDistributionPass::run(Function &F, FunctionAnalysisManager &Functions) {
  auto &LI = Functions.getResult<LoopAnalysis>(F);
  const Answer Decide = LI.empty() ? nullptr : OpenIt(F);
  if (!Decide)
    return PreservedAnalyses::all();
  bool Changed = simplify(F, Functions);
  const loops::Analyses A{F, LI, Functions.getResult<DominatorTreeAnalysis>(F), Functions.getResult<ScalarEvolutionAnalysis>(F),
                          Functions.getResult<AAManager>(F)};
  auto &Remarks = Functions.getResult<OptimizationRemarkEmitterAnalysis>(F);
  for (auto [Nth, L] : enumerate(innermost(LI))) {
    auto Graph = loops::DependenceGraph::build(*L, A);
    if (!Graph) {
      remark(Remarks, *L, Graph.error());
      continue;
    }
    loops::Partition PartOf = Decide(*Graph, Nth);
    remark(Remarks, *Graph, PartOf);
    Changed |= distribute(*Graph, PartOf, A);
  }
  return Changed ? changedLoops() : PreservedAnalyses::all();
}

static LoopDistributionPass answering(const loops::FixedAnswer &Always) {
  return LoopDistributionPass([Always](Function &) { return Always; });
}

void registerLoopDistribution(PassBuilder &Builder) {
  Builder.registerPipelineParsingCallback([](StringRef Text, FunctionPassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
    if (!Text.consume_front(Name) || !Text.consume_front("<") || !Text.consume_back(">"))
      return false;
    auto Answer = loops::FixedAnswer::parse(Text);
    if (!Answer) {
      errs() << Name << ": " << toString(Answer.takeError()) << "\n";
      return false;
    }
    Passes.addPass(answering(*Answer));
    return true;
  });
  if (HostAnswer)
    Builder.registerVectorizerStartEPCallback([](FunctionPassManager &Passes, OptimizationLevel) { Passes.addPass(answering(*HostAnswer)); });
}

} // namespace mlcb
