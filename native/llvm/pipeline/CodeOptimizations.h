// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimizations of the code generator that a module can be compiled without.
#pragma once

#include "llvm/pipeline/OptionScope.h"

#include "llvm/ADT/ArrayRef.h"

namespace mlcb {

/// The settings that leave out optimizations, by their names in LLVM's options, as lsr in -disable-lsr. An error for a name that is none of a
/// few which change code and never what it does.
Expected<std::vector<OptionSetting>> withoutOptimizations(llvm::ArrayRef<std::string> Names);

/// Holds options for the rest of the process, but those that its user has set. Code generation heeds those that it is set up after.
void setForGood(llvm::ArrayRef<OptionSetting> Settings);

} // namespace mlcb
