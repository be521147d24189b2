// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/Conversation.h"

#include "spec/Tasks.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

using Feature = function_size::advisor;

FunctionConversation::FunctionConversation(Module &M, FunctionActions &Actions, ModelRunner &Policy, const EpisodeRequest &Request,
                                           Measurement Measure)
    : Conversation(M, Policy, Request, std::move(Measure)), Actions(Actions), Forbidden(Request.Forbidden) {
  for (const Function &F : M)
    Totals.Functions += !F.isDeclarationForLinker();
  Totals.Instructions = M.getInstructionCount();
}

void FunctionConversation::decide() {
  for (Function &F : module()) {
    const auto Mask = choices(F);
    const size_t Chosen = Mask && !failure() ? ask(F, *Mask).value_or(0) : 0;
    if (auto Done = Actions.take(Chosen, F); !Done)
      abandon(Done.error());
  }
}

std::vector<Choices> FunctionConversation::answers() {
  std::vector<Choices> All;
  for (Function &F : module())
    if (const auto Mask = choices(F); Mask && !failure())
      if (const Expected<size_t> Chosen = ask(F, *Mask))
        All.push_back({&F, 0, {*Chosen}});
  return All;
}

std::vector<Choices> FunctionConversation::first(size_t AtMost) {
  std::vector<Choices> All;
  for (Function &F : module())
    if (const auto Mask = choices(F)) {
      All.push_back({&F, 0, {}});
      for (size_t Index = 1; Index < Actions.size() && All.back().Others.size() < AtMost; ++Index)
        if (Mask->allows(Index))
          All.back().Others.push_back(Index);
    }
  return All;
}

std::vector<Choices> FunctionConversation::best(size_t AtMost) {
  std::vector<Choices> All;
  for (Function &F : make_filter_range(module(), takesPasses)) {
    SmallVector<size_t, 4> Ranked;
    for (auto Mask = choices(F); Mask && Mask->allowsAny() && Ranked.size() < AtMost && !failure(); Mask->forbid(Ranked.back()))
      Ranked.push_back(ask(F, *Mask).value_or(0));
    All.push_back({&F, Ranked.empty() ? 0 : Ranked.front(), {}});
    append_range(All.back().Others, drop_begin(Ranked, Ranked.empty() ? 0 : 1));
  }
  return All;
}

/// What there is to gain from attributes is in the unwind table.
static bool takesAttributes(const Function &F) {
  return takesPasses(F) && F.hasMinSize() && F.needsUnwindTableEntry() && F.getCallingConv() != CallingConv::GHC &&
         F.getCallingConv() != CallingConv::HiPE;
}

bool FunctionConversation::allows(const FunctionAction &Action, const Function &F) {
  const AttributeChange &Change = Action.Attributes;
  return Change.isKeep() || (takesAttributes(F) && Change.changes(F) && (!Change.KeepsFramePointer || !hasInlineAssembly(F)) &&
                             (!Change.EndsTailCalls || Chains.end(F)));
}

std::optional<ActionMask> FunctionConversation::choices(const Function &F) {
  if (!takesPasses(F))
    return std::nullopt;
  ActionMask Mask(Actions.size(), Forbidden);
  bool IsChoice = false;
  for (size_t Index = 0; Index < Actions.size(); ++Index)
    if (allows(Actions[Index], F))
      IsChoice |= Index > 0;
    else
      Mask.forbid(Index);
  return IsChoice && Mask.allowsAny() ? std::optional(std::move(Mask)) : std::nullopt;
}

Expected<size_t> FunctionConversation::ask(Function &F, const ActionMask &Mask) {
  observeFunction(policy(), F, Totals);
  policy().tensor<int64_t>(Feature::action_default)[0] = 0;
  Mask.write(policy().tensor<int8_t>(Feature::action_mask));
  return Conversation::ask<size_t>();
}

} // namespace mlcb
