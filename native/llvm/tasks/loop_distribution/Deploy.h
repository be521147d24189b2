// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A policy for the loops of a compiler's own pipelines.
#pragma once

#include "llvm/task/TaskRegistration.h"
#include "llvm/tasks/loop_distribution/Conversation.h"

#include <functional>

namespace llvm {
class Function;
} // namespace llvm

namespace mlcb {

/// Makes the pipelines of a builder ask before their vectorizer. Open gives the conversation about a function; null where there is none.
void askBeforeVectorizer(llvm::PassBuilder &Builder, std::function<LoopConversation *(llvm::Function &F)> Open);

/// Makes the host's pipelines ask the policies of the command line.
void distributeHostLoops(const TaskRegistration &Task, llvm::PassBuilder &Builder);

} // namespace mlcb
