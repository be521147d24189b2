// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parameters of function_size.def and function_posetrl.def as C++ values.
#pragma once

#include "spec/TaskSpec.h"
#include "llvm/pipeline/CodeOptimizations.h"
#include "llvm/tasks/function_size/FunctionActions.h"

namespace mlcb {

struct FunctionSizeParameters {
  std::string Pipeline;
  std::vector<FunctionAction> Actions; // the first changes no attributes
  double TextWeight;                   // of a byte of .text, beside that of one in any section
  std::vector<OptionSetting> Without;  // that leave optimizations out of code generation

  static Expected<FunctionSizeParameters> read(const BoundSpec &Spec);
};

inline bool setsOptions(const FunctionSizeParameters &Parameters) { return anySetsOptions(Parameters.Actions); }

} // namespace mlcb
