// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loops of a compiler's own pipelines are split as a policy says.
#pragma once

#include "llvm/task/BoundTask.h"
#include "llvm/tasks/loop_distribution/Conversation.h"

#include <functional>

namespace llvm {
class Function;
} // namespace llvm

namespace mlcb {

/// Has the pipelines of a builder ask before their vectorizer. Open gives whoever is asked about a function; null:
/// nobody.
void askBeforeVectorizer(llvm::PassBuilder &Builder, std::function<LoopConversation *(llvm::Function &F)> Open);

/// Has the host's pipelines ask the policies of the command line.
void splitHost(const TaskRegistration &Task, llvm::PassBuilder &Builder);

} // namespace mlcb
