// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/FunctionActions.h"

#include "llvm/process/CurrentActivity.h"
#include "llvm/task/Remark.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

/// The changes of attributes at the beginning of an action, without what separates them from its passes.
static std::pair<StringRef, StringRef> splitAttributes(StringRef Text) {
  if (Text == "keep")
    return {Text, ""};
  if (!Text.starts_with("+") && !Text.starts_with("-"))
    return {"keep", Text};
  const auto [Attributes, Passes] = Text.split(';');
  return {Text.contains(';') ? Attributes.rtrim() : Text, Passes.trim()};
}

Expected<FunctionAction> FunctionAction::parse(StringRef Text) {
  const auto [Attributes, Passes] = splitAttributes(Text);
  Expected<AttributeChange> Change = AttributeChange::parse(Attributes);
  if (!Change)
    return Unexpected(Change.error());
  FunctionAction Read{Text.str(), std::move(*Change), {}};
  if (Passes.empty())
    return Read;
  Expected<Action> Pipelines = parseAction(Passes);
  if (!Pipelines)
    return Unexpected(Pipelines.error());
  if (Pipelines->isStop())
    return fail(ErrorKind::InvalidArgument, "action '" + Text.str() + "': expected 'keep', or passes");
  Read.Stages = std::move(Pipelines->Stages);
  return Read;
}

bool takesPasses(const Function &F) { return !F.isDeclarationForLinker() && !F.hasOptNone() && !F.hasFnAttribute(Attribute::Naked); }

bool havePasses(ArrayRef<FunctionAction> Actions) {
  return any_of(Actions, [](const FunctionAction &Each) { return !Each.Stages.empty(); });
}

Expected<void> FunctionActions::take(size_t Index, Function &F) {
  const FunctionAction &Chosen = Actions[Index];
  Chosen.Attributes.apply(F);
  if (Chosen.isKeep() || !takesPasses(F))
    return {};
  remarkAction(Index, Chosen.Text, F);
  if (Chosen.Stages.empty())
    return {};
  CurrentActivity Now(Chosen.Text);
  return prepare(Index).map([&] {
    for (auto [S, Each] : zip_equal(Chosen.Stages, *Passes[Index]))
      Runner->run(Each, S, F);
  });
}

bool FunctionActions::havePasses() const { return mlcb::havePasses(Actions); }

void FunctionActions::finish(Module &M) {
  if (havePasses())
    Runner->run("globaldce,constmerge", M);
}

} // namespace mlcb
