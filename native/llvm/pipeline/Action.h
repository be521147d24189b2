// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of an action: pipelines, each with the global options it runs under.
#pragma once

#include "llvm/pipeline/OptionScope.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace mlcb {

/// A pipeline as `opt -passes=` reads it, and options set around it.
struct Stage {
  std::vector<OptionSetting> Options;
  std::string Pipeline;
};

/// `{option=value,...} pipeline ; {option=value,...} pipeline ...`, or `stop`, which ends the episode and has no stages.
struct Action {
  std::string Text;
  std::vector<Stage> Stages;

  bool isStop() const { return Stages.empty(); }
};

/// Reads the text of an action; whether LLVM has its passes and options is not looked at. Passes that are known to miscompile or to
/// crash in LLVM 22 are refused; instcombine is given no-verify-fixpoint, without which it ends the process where it finds more to do.
Expected<Action> parseAction(llvm::StringRef Text);

/// Whether options are set around a stage of one of them.
template <class ActionT> bool anySetsOptions(const std::vector<ActionT> &Actions) {
  return llvm::any_of(Actions, [](const ActionT &Each) { return llvm::any_of(Each.Stages, [](const Stage &S) { return !S.Options.empty(); }); });
}

} // namespace mlcb
