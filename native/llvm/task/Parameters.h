// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parameters of several tasks have in common.
#pragma once

#include "llvm/observe/Vocabulary.h"
#include "spec/TaskSpec.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace mlcb {

/// A parameter that means nothing, as `posetrl/max_steps: expected at least 1`.
Unexpected invalidParameter(const BoundSpec &Spec, const llvm::Twine &Why);

/// The parameters of a bound spec, by name.
Expected<llvm::json::Object> parametersOf(const BoundSpec &Spec);

/// The parameter `pipeline`: one pipeline without options around it, made safe as those of actions are; empty where it is.
Expected<std::string> readPipeline(const BoundSpec &Spec, const llvm::json::Object &Parameters);

/// The parameter `optsize`: whether functions keep the attributes minsize and optsize.
Expected<bool> readKeepsOptSize(const BoundSpec &Spec, const llvm::json::Object &Parameters);

/// The vocabulary of this process, where it is the one that `dimension` and `vocabulary` name.
Expected<const Vocabulary *> readVocabulary(const BoundSpec &Spec, const llvm::json::Object &Parameters);

} // namespace mlcb
