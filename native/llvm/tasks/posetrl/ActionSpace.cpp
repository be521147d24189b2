// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/posetrl/ActionSpace.h"

using namespace llvm;

namespace mlcb {

Expected<ActionSpace> ActionSpace::create(ArrayRef<std::string> Texts, PassRunner &Runner) {
  ActionSpace Space(Runner);
  for (const std::string &Text : Texts) {
    Expected<Action> Source = parseAction(Text);
    if (!Source)
      return Unexpected(Source.error());
    const size_t Stages = Source->Stages.size();
    Space.Actions.push_back({std::move(*Source), std::vector<std::optional<ModulePassManager>>(Stages)});
  }
  return Space;
}

Expected<void> ActionSpace::prepareAll() {
  std::vector<OptionSetting> All;
  for (const Prepared &Action : Actions)
    for (const Stage &S : Action.Source.Stages)
      append_range(All, S.Options);
  auto &Check = checkOfEach(All);
  for (Prepared &Action : Actions)
    if (auto Done = prepare(Action, Check); !Done)
      return Done;
  return {};
}

Expected<void> ActionSpace::prepare(Prepared &Chosen, decltype(checkOptions) &Check) {
  for (auto [S, Passes] : zip(Chosen.Source.Stages, Chosen.Passes)) {
    if (Passes)
      continue;
    Expected<ModulePassManager> Parsed = Check(S.Options).and_then([&] { return Runner->parse(S); });
    if (!Parsed)
      return fail(ErrorKind::InvalidArgument, "action '" + Chosen.Source.Text + "': " + Parsed.error().Message);
    Passes.emplace(std::move(*Parsed));
  }
  return {};
}

Expected<bool> ActionSpace::apply(size_t Index, Module &M) {
  Prepared &Chosen = Actions[Index];
  if (auto Ready = prepare(Chosen, checkOptions); !Ready)
    return Unexpected(Ready.error());
  bool Changed = false;
  for (auto [S, Passes] : zip(Chosen.Source.Stages, Chosen.Passes)) {
    Changed |= !Runner->run(std::move(*Passes), S, M).areAllPreserved();
    Passes.reset();
  }
  return Changed;
}

} // namespace mlcb
