// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The actions of a policy, ready to be applied.
#pragma once

#include "llvm/pipeline/PassRunner.h"

#include <optional>
#include <vector>

namespace mlcb {

/// Actions by index. One is parsed when it is applied, each time; or all beforehand, for the first time.
class ActionSpace {
public:
  /// A text that is no action is an error that names it.
  static Expected<ActionSpace> create(llvm::ArrayRef<std::string> Texts, PassRunner &Runner);

  /// Parses all actions, and tries their options: what is wrong with one is an error now.
  Expected<void> prepareAll();

  size_t size() const { return Actions.size(); }
  const Action &operator[](size_t Index) const { return Actions[Index].Source; }

  /// Whether the passes say that they may have changed the module.
  Expected<bool> apply(size_t Index, llvm::Module &M);

private:
  struct Prepared {
    Action Source;
    std::vector<std::optional<llvm::ModulePassManager>> Passes; // one for each stage, until it has run
  };

  explicit ActionSpace(PassRunner &Runner) : Runner(&Runner) {}
  Expected<void> prepare(Prepared &Chosen, decltype(checkOptions) &Check);

  PassRunner *Runner;
  std::vector<Prepared> Actions;
};

} // namespace mlcb
