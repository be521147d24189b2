// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pipelines of optimization levels as clang has them.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <string>

namespace llvm {
class PassBuilder;
class PassInstrumentationCallbacks;
class TargetMachine;
} // namespace llvm

namespace mlcb {

/// The pipeline with the one of every level, and LLVM's outliner, replaced by names that a builder of addDefaultPipelines() knows. LLVM's own parser
/// builds for `default<Oz>` what opt does, which vectorises nothing, where clang vectorises straight-line code; -Oz is what clang does.
std::string asClangHasIt(llvm::StringRef Pipeline);

/// What LLVM's parser says of such a pipeline, about the one that was given.
std::string asWritten(std::string Message);

/// Extend adds to the builder that such a pipeline comes from.
void addDefaultPipelines(llvm::PassBuilder &Builder, llvm::TargetMachine &Target, llvm::PassInstrumentationCallbacks &Callbacks,
                         std::function<void(llvm::PassBuilder &)> Extend);

} // namespace mlcb
