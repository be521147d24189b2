// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/FunctionActions.h"

#include "llvm/process/CurrentActivity.h"

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
  Read.Passes = std::move(Pipelines->Stages);
  return Read;
}

bool takesPasses(const Function &F) { return !F.isDeclarationForLinker() && !F.hasOptNone() && !F.hasFnAttribute(Attribute::Naked); }

bool setOptions(ArrayRef<FunctionAction> Actions) {
  return any_of(Actions, [](const FunctionAction &Each) { return setOptions(ArrayRef(Each.Passes)); });
}

bool havePasses(ArrayRef<FunctionAction> Actions) {
  return any_of(Actions, [](const FunctionAction &Each) { return !Each.Passes.empty(); });
}

Expected<void> FunctionActions::prepareAll() {
  std::vector<OptionSetting> All;
  for (const FunctionAction &Each : Actions)
    for (const Stage &S : Each.Passes)
      append_range(All, S.Options);
  auto &Check = checkOfEach(All);
  for (size_t Index = 0; Index < Actions.size(); ++Index)
    if (auto Ready = prepared(Index, Check); !Ready)
      return Unexpected(Ready.error());
  return {};
}

Expected<FunctionActions::Parsed *> FunctionActions::prepared(size_t Index, decltype(checkOptions) &Check) {
  Passes.resize(Actions.size());
  if (Passes[Index])
    return &*Passes[Index];
  Parsed Made;
  for (const Stage &S : Actions[Index].Passes) {
    Expected<FunctionPassManager> One = Check(S.Options).and_then([&] { return Runner->parseForFunction(S); });
    if (!One)
      return fail(ErrorKind::InvalidArgument, "action '" + Actions[Index].Text + "': " + One.error().Message);
    Made.push_back(std::move(*One));
  }
  return &Passes[Index].emplace(std::move(Made));
}

Expected<void> FunctionActions::take(size_t Index, Function &F) {
  const FunctionAction &Chosen = Actions[Index];
  Chosen.Attributes.apply(F);
  if (Chosen.Passes.empty() || !takesPasses(F))
    return {};
  CurrentActivity Now(Chosen.Text);
  return prepared(Index, checkOptions).map([&](Parsed *Ready) {
    for (auto [S, One] : zip(Chosen.Passes, *Ready))
      Runner->run(One, S, F);
  });
}

bool FunctionActions::havePasses() const { return mlcb::havePasses(Actions); }

void FunctionActions::finish(Module &M) {
  if (havePasses())
    Runner->run("globaldce,constmerge", M);
}

} // namespace mlcb
