// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Conversation.h"

#include "llvm/observe/Embedding.h"
#include "spec/Tasks.h"

#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace mlcb {

using Feature = inliner::advisor;
using inliner::Metric;

static void embed(const Function &F, const EmbeddingChoice &How, std::span<float> Out) {
  EntityCounts Counts;
  if (How.Kind == EmbeddingKind::FlowAware)
    Counts.addFlowAware(F);
  else
    Counts.addSymbolic(F);
  Counts.embed(How.Seeds, Out);
}

InlineConversation::InlineConversation(const InlinerParameters &Parameters, ModelRunner &Policy, measure::Measurer *Target,
                                 ArrayRef<int64_t> Barred, bool Verify)
    : Parameters(Parameters), Policy(Policy), Target(Target),
      Mask(Policy.tensor<int8_t>(Feature::action_mask).size(), Barred), Verify(Verify) {
  Mask.write(Policy.tensor<int8_t>(Feature::action_mask));
}

bool InlineConversation::ask(CallBase &Call, bool Default) {
  if (Failure || !Mask.allowsAny())
    return Default;
  Policy.tensor<int64_t>(Feature::inlining_default)[0] = Default;
  if (Parameters.Embedding) {
    embed(*Call.getCalledFunction(), *Parameters.Embedding, Policy.tensor<float>(Feature::callee_embedding));
    embed(*Call.getCaller(), *Parameters.Embedding, Policy.tensor<float>(Feature::caller_embedding));
  }
  if (Parameters.Context)
    Context.write(Call, Policy);
  Expected<bool> Answer = evaluate(Call);
  if (!Answer)
    Failure = Answer.error();
  else if (Parameters.Context)
    Context.answered(Call, *Answer);
  return Answer.value_or(Default);
}

Expected<bool> InlineConversation::evaluate(CallBase &Call) {
  ++Asked;
  const Module &M = *Call.getModule();
  if (auto Sound = check(M); !Sound)
    return Unexpected(Sound.error());
  if (!Policy.measuresEndAlone())
    if (auto Done = measure(M); !Done)
      return Unexpected(Done.error());
  endTurn<Metric>(Policy, Work);
  Expected<bool> Answer = Policy.evaluate<int64_t>().map([](int64_t Choice) { return Choice == 1; });
  beginTurn(Policy, Work);
  return Answer;
}

Expected<EndReason> InlineConversation::finish(const Module &M) {
  if (Failure)
    return Unexpected(*Failure);
  if (auto Sound = check(M); !Sound)
    return Unexpected(Sound.error());
  if (auto Done = measure(M); !Done)
    return Unexpected(Done.error());
  endTurn<Metric>(Policy, Work);
  EndReason Why = Asked == 0 ? EndReason::NoDecisions : EndReason::Exhausted;
  return Policy.end(Why).map([Why] { return Why; });
}

Expected<void> InlineConversation::check(const Module &M) const {
  if (Verify && verifyModule(M))
    return fail(ErrorKind::SystemError, "the inliner leaves a module that LLVM's verifier refuses");
  return {};
}

Expected<void> InlineConversation::measure(const Module &M) {
  const Uncounted Measuring(Work);
  return Target ? fillMetrics<Metric>(Policy, M, *Target) : Expected<void>();
}

} // namespace mlcb
