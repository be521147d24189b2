// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `default<Oz>` and its like as clang has them.
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

/// The pipeline with every `default<O...>` replaced by a name that a builder of addDefaultPipelines() knows. LLVM's own parser
/// understands by it what opt does, which vectorises nothing at -Oz where clang vectorises straight-line code; -Oz is what clang does.
std::string asClangHasIt(llvm::StringRef Pipeline);

/// Extend adds to the builder that such a pipeline comes from.
void addDefaultPipelines(llvm::PassBuilder &Builder, llvm::TargetMachine &Target, llvm::PassInstrumentationCallbacks &Callbacks,
                         std::function<void(llvm::PassBuilder &)> Extend);

/// "default<Oz>".
std::string defaultPipeline(unsigned SpeedupLevel, unsigned SizeLevel);

} // namespace mlcb
