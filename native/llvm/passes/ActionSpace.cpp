// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/ActionSpace.h"

using namespace llvm;

namespace mlcb {

Expected<ActionSpace> ActionSpace::create(ArrayRef<std::string> Texts, PassRunner &Runner) {
  ActionSpace Space(Runner);
  for (const std::string &Text : Texts)
    if (auto Added = Space.add(Text); !Added)
      return Unexpected(Added.error());
  return Space;
}

Expected<void> ActionSpace::add(StringRef Text) {
  Expected<Action> Source = parseAction(Text);
  if (!Source)
    return Unexpected(Source.error());
  Prepared New{std::move(*Source), {}};
  for (const Stage &S : New.Source.Stages) {
    Expected<ModulePassManager> Passes = Runner->parse(S);
    if (!Passes)
      return fail(ErrorKind::InvalidArgument, "action '" + Text.str() + "': " + Passes.error().Message);
    New.Passes.emplace_back(std::move(*Passes));
  }
  Actions.push_back(std::move(New));
  return {};
}

bool ActionSpace::apply(size_t Index, Module &M) {
  Prepared &Chosen = Actions[Index];
  bool Changed = false;
  for (auto [S, Passes] : zip(Chosen.Source.Stages, Chosen.Passes)) {
    ModulePassManager Once = Passes ? std::move(*Passes) : std::move(*Runner->parse(S));
    Passes.reset();
    Changed |= !Runner->run(std::move(Once), S, M).areAllPreserved();
  }
  return Changed;
}

} // namespace mlcb
