// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function as the numbers that the policy for its attributes sees.
#pragma once

#include "runner/ModelRunner.h"

namespace llvm {
class Function;
}

namespace mlcb {

struct ModuleTotals {
  int64_t Functions = 0; // with a body
  int64_t Instructions = 0;
};

/// Fills the tensors of function_size.def but the mask and the heuristic.
void observeFunction(ModelRunner &Policy, llvm::Function &F, ModuleTotals Of);

} // namespace mlcb
