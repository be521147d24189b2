// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The actions of a policy, and the passes that LLVM makes of them.
#pragma once

#include "llvm/pipeline/PassRunner.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>
#include <vector>

namespace mlcb {

/// Actions by index. ActionT has a Text, and Stages that are parsed to a ManagerT each.
template <class ActionT, class ManagerT> class PreparedActions {
public:
  /// Runner may be null where no action has passes.
  PreparedActions(std::vector<ActionT> Actions, PassRunner *Runner) : Actions(std::move(Actions)), Runner(Runner), Passes(this->Actions.size()) {}

  size_t size() const { return Actions.size(); }
  const ActionT &operator[](size_t Index) const { return Actions[Index]; }

  /// Parses all passes, and tries their options: an error names the action that LLVM refuses.
  Expected<void> prepareAll() {
    std::vector<OptionSetting> All;
    for (const ActionT &Each : Actions)
      for (const Stage &S : Each.Stages)
        llvm::append_range(All, S.Options);
    auto &Check = checkOfEach(All);
    for (size_t Index = 0; Index < size(); ++Index)
      if (auto Ready = prepare(Index, Check); !Ready)
        return Ready;
    return {};
  }

protected:
  /// Parses the passes of an action, unless they are there from before.
  Expected<void> prepare(size_t Index, decltype(checkOptions) &Check = checkOptions) {
    if (Passes[Index])
      return {};
    std::vector<ManagerT> Made;
    for (const Stage &S : Actions[Index].Stages) {
      Expected<ManagerT> One = Check(S.Options).and_then([&] { return Runner->parse<ManagerT>(S); });
      if (!One)
        return fail(ErrorKind::InvalidArgument, "action '" + Actions[Index].Text + "': " + One.error().Message);
      Made.push_back(std::move(*One));
    }
    Passes[Index] = std::move(Made);
    return {};
  }

  std::vector<ActionT> Actions;
  PassRunner *Runner;
  std::vector<std::optional<std::vector<ManagerT>>> Passes; // [action][stage], where they are prepared
};

} // namespace mlcb
