// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/Conversation.h"

#include "spec/Tasks.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

using Feature = function_size::advisor;

FunctionConversation::FunctionConversation(Module &M, std::vector<AttributeChange> Actions, ModelRunner &Policy, const EpisodeRequest &Request,
                                           Measurement Measure)
    : Conversation(M, Policy, Request, std::move(Measure)), Actions(std::move(Actions)), Forbidden(Request.Forbidden) {
  for (const Function &F : M)
    Totals.Functions += !F.isDeclarationForLinker();
  Totals.Instructions = M.getInstructionCount();
}

void FunctionConversation::decide() {
  for (Function &F : module())
    if (const auto Mask = allowed(F); Mask && !failure())
      if (const Expected<size_t> Chosen = ask(F, *Mask))
        Actions[*Chosen].apply(F);
}

std::vector<Choices> FunctionConversation::answers() {
  std::vector<Choices> All;
  for (Function &F : module())
    if (const auto Mask = allowed(F); Mask && !failure())
      if (const Expected<size_t> Chosen = ask(F, *Mask))
        All.push_back({&F, {Actions[*Chosen]}});
  return All;
}

std::vector<Choices> FunctionConversation::first(size_t AtMost) {
  std::vector<Choices> All;
  for (Function &F : module())
    if (const auto Mask = allowed(F)) {
      All.push_back({&F, {}});
      for (size_t Index = 1; Index < Actions.size() && All.back().Changes.size() < AtMost; ++Index)
        if (Mask->allows(Index))
          All.back().Changes.push_back(Actions[Index]);
    }
  return All;
}

/// What there is to gain is in the unwind table.
static bool isOpen(const Function &F) {
  return !F.isDeclarationForLinker() && F.hasMinSize() && F.needsUnwindTableEntry() && !F.hasOptNone() && !F.hasFnAttribute(Attribute::Naked) &&
         F.getCallingConv() != CallingConv::GHC && F.getCallingConv() != CallingConv::HiPE;
}

std::optional<ActionMask> FunctionConversation::allowed(const Function &F) {
  if (!isOpen(F))
    return std::nullopt;
  const auto IsAllowed = [&](const AttributeChange &Change) {
    return Change.changes(F) && (!Change.KeepsFramePointer || !hasInlineAssembly(F)) && (!Change.EndsTailCalls || Chains.end(F));
  };
  ActionMask Mask(Actions.size(), Forbidden);
  bool IsChoice = false;
  for (size_t Index = 0; Index < Actions.size(); ++Index)
    if (Actions[Index].isKeep() || IsAllowed(Actions[Index]))
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
