// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Conversation.h"

#include "spec/Tasks.h"
#include "llvm/observe/Embedding.h"

#include "llvm/IR/InstrTypes.h"

using namespace llvm;

namespace mlcb {

using Feature = inliner::advisor;

static void embed(const Function &F, const EmbeddingChoice &How, std::span<float> Out) {
  EntityCounts Counts;
  if (How.Kind == EmbeddingKind::FlowAware)
    Counts.addFlowAware(F);
  else
    Counts.addSymbolic(F);
  Counts.embed(How.Seeds, Out);
}

InlineConversation::InlineConversation(Module &M, InlinerParameters Given, ModelRunner &Policy, const EpisodeRequest &Request, Measurement Measure)
    : Conversation(M, Policy, Request, std::move(Measure)), Parameters(std::move(Given)),
      Mask(Policy.tensor<int8_t>(Feature::action_mask).size(), Request.Forbidden) {
  Mask.write(Policy.tensor<int8_t>(Feature::action_mask));
}

bool InlineConversation::ask(CallBase &Call, bool Default) {
  if (failure() || !Mask.allowsAny())
    return Default;
  policy().tensor<int64_t>(Feature::inlining_default)[0] = Default;
  if (Parameters.Embedding) {
    embed(*Call.getCalledFunction(), *Parameters.Embedding, policy().tensor<float>(Feature::callee_embedding));
    embed(*Call.getCaller(), *Parameters.Embedding, policy().tensor<float>(Feature::caller_embedding));
  }
  if (Parameters.Context)
    Context.write(Call, policy());
  const Expected<bool> Answer = evaluate();
  if (Answer && Parameters.Context)
    Context.answered(Call, *Answer);
  return Answer.value_or(Default);
}

Expected<bool> InlineConversation::evaluate() {
  if (auto Sound = verify("the inliner"); !Sound)
    return Unexpected(abandon(Sound.error()));
  return Conversation::ask<int64_t>().map([](int64_t Choice) { return Choice == 1; });
}

} // namespace mlcb
