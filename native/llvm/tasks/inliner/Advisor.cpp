// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Advisor.h"

#include "spec/Tasks.h"

#include "llvm/Analysis/InlineModelFeatureMaps.h"
#include "llvm/Analysis/MLInlineAdvisor.h"
#include "llvm/Analysis/MLModelRunner.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

namespace {

// LLVM writes its features by index into the tensors of native/tasks/InlineFeatures.inc.
#define SAME_INDEX(TYPE, SHAPE, NAME, DOC)                                                                                                           \
  static_assert(static_cast<size_t>(inliner::advisor::NAME) == static_cast<size_t>(FeatureIndex::NAME), #NAME);
INLINE_COST_FEATURE_ITERATOR(SAME_INDEX)
INLINE_FEATURE_ITERATOR(SAME_INDEX)
#undef SAME_INDEX
static_assert(static_cast<size_t>(inliner::advisor::inlining_default) == static_cast<size_t>(FeatureIndex::callee_embedding),
              "as many features as LLVM has");

/// LLVM's view of the policy. The question itself is put by the advisor, which knows the call.
class FeatureBuffers final : public MLModelRunner {
public:
  FeatureBuffers(LLVMContext &Context, const std::vector<llvm::TensorSpec> &Specs, InlineConversation &Talk)
      : MLModelRunner(Context, Kind::NoOp, Specs.size()) {
    // What comes after the features is LLVM's own embeddings, where its vocabulary is cached: LLVM keeps those itself.
    for (auto [Index, Spec] : enumerate(Specs))
      setUpBufferForTensor(Index, Spec, Index < static_cast<size_t>(FeatureIndex::callee_embedding) ? Talk.feature(Index) : nullptr);
  }

private:
  void *evaluateUntyped() override { llvm_unreachable("the advisor asks"); }
};

cl::opt<float> &growthLimit() { return *static_cast<cl::opt<float> *>(cl::getRegisteredOptions().lookup("ml-advisor-size-increase-threshold")); }

/// The limit that MLInlineAdvisor has on the growth of a module, unless the command line sets it.
class GrowthLimit {
public:
  explicit GrowthLimit(const InlinerParameters &Parameters) {
    if (!setsOptions(Parameters))
      return;
    Before = growthLimit();
    growthLimit().setValue(static_cast<float>(Parameters.Growth));
  }
  ~GrowthLimit() {
    if (Before)
      growthLimit().setValue(*Before);
  }
  GrowthLimit(const GrowthLimit &) = delete;
  GrowthLimit &operator=(const GrowthLimit &) = delete;

private:
  std::optional<float> Before; // where it is changed
};

class PolicyInlineAdvisor final : public MLInlineAdvisor {
public:
  PolicyInlineAdvisor(Module &M, ModuleAnalysisManager &Modules, FunctionAnalysisManager &Functions, const InlineParams &Params,
                      InlineContext Context, std::shared_ptr<InlineConversation> Asked)
      : MLInlineAdvisor(
            M, Modules, [&](const std::vector<llvm::TensorSpec> &Specs) { return std::make_unique<FeatureBuffers>(M.getContext(), Specs, *Asked); },
            [this](CallBase &Call) { return asksHeuristic(Call); }),
        Heuristic(M, Functions, Params, Context), Limit(Asked->parameters()), Talk(std::move(Asked)) {}

private:
  /// MLInlineAdvisor never inlines a function into itself, and asks nobody; LLVM's heuristic may, and decides here.
  std::unique_ptr<InlineAdvice> getAdviceImpl(CallBase &Call) override {
    if (Call.getCaller() != Call.getCalledFunction() || isForcedToStop())
      return MLInlineAdvisor::getAdviceImpl(Call);
    return std::make_unique<MLInlineAdvice>(this, Call, getCallerORE(Call), asksHeuristic(Call));
  }

  std::unique_ptr<MLInlineAdvice> getAdviceFromModel(CallBase &Call, OptimizationRemarkEmitter &Remarks) override {
    return std::make_unique<MLInlineAdvice>(this, Call, Remarks, Talk->ask(Call, asksHeuristic(Call)));
  }

  bool asksHeuristic(CallBase &Call) {
    std::unique_ptr<InlineAdvice> Advice = Heuristic.getAdvice(Call);
    Advice->recordUnattemptedInlining(); // LLVM wants to hear of every advice
    return Advice->isInliningRecommended();
  }

  DefaultInlineAdvisor Heuristic;
  GrowthLimit Limit;
  std::shared_ptr<InlineConversation> Talk;
};

/// The host of this thread, for the factory, which is a plain function.
struct Host {
  ModuleAnalysisManager *Modules;
  OpenInlineConversation Open;
};
thread_local Host Current;

InlineAdvisor *makeAdvisor(Module &M, FunctionAnalysisManager &Functions, InlineParams Params, InlineContext Context) {
  // Profiles are made, and fit, after early inlining: there the heuristic decides.
  const bool IsEarly = Context.Pass == InlinePass::EarlyInliner;
  if (std::shared_ptr<InlineConversation> Talk = IsEarly ? nullptr : Current.Open(M))
    return new PolicyInlineAdvisor(M, *Current.Modules, Functions, Params, Context, std::move(Talk));
  return new DefaultInlineAdvisor(M, Functions, Params, Context);
}

} // namespace

bool setsOptions(const InlinerParameters &Parameters) {
  // The value may be what an advisor of another thread has set.
  return growthLimit().getNumOccurrences() == 0 && growthLimit().getDefault().getValue() != static_cast<float>(Parameters.Growth);
}

void adviseHost(ModuleAnalysisManager &Modules, OpenInlineConversation Open) {
  Current = {&Modules, std::move(Open)};
  Modules.registerPass([] { return PluginInlineAdvisorAnalysis(makeAdvisor); });
}

InlineAdvisorScope::InlineAdvisorScope(ModuleAnalysisManager &Modules, OpenInlineConversation Open)
    : OuterModules(Current.Modules), OuterOpen(std::move(Current.Open)) {
  adviseHost(Modules, std::move(Open));
}

InlineAdvisorScope::~InlineAdvisorScope() { Current = {OuterModules, std::move(OuterOpen)}; }

} // namespace mlcb
