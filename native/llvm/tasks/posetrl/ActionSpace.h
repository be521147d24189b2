// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The actions of a policy, applied to a module.
#pragma once

#include "llvm/pipeline/PreparedActions.h"

namespace mlcb {

/// An action is parsed when it is applied, each time; or beforehand, for the first time.
class ActionSpace : public PreparedActions<Action, llvm::ModulePassManager> {
public:
  using PreparedActions::PreparedActions;

  /// Whether the passes say that they may have changed the module.
  Expected<bool> apply(size_t Index, llvm::Module &M);
};

} // namespace mlcb
