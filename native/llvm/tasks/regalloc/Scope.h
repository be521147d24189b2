// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The conversation that the allocator of this thread is to use.
#pragma once

#include "llvm/tasks/regalloc/Conversation.h"

#include <functional>
#include <memory>

namespace llvm {
class Pass;
} // namespace llvm

namespace mlcb {

/// Opens the conversation of a task about a module, which lasts until its code is generated; null where LLVM decides.
using OpenRegalloc = std::function<std::shared_ptr<RegallocConversation>(llvm::StringRef Task, llvm::Module &M)>;

/// Opens none: LLVM's own advisors decide.
std::shared_ptr<RegallocConversation> unadvised(llvm::StringRef Task, llvm::Module &M);

/// Has the allocator of this thread ask while it lives.
class RegallocScope {
public:
  explicit RegallocScope(OpenRegalloc Open);
  ~RegallocScope();
  RegallocScope(const RegallocScope &) = delete;
  RegallocScope &operator=(const RegallocScope &) = delete;

private:
  OpenRegalloc Outer;
};

/// As the innermost scope of this thread has it; without one, the policies of the command line. Asking is a pass of the code generation.
std::shared_ptr<RegallocConversation> openRegalloc(llvm::StringRef Task, llvm::Module &M, const llvm::Pass &Asking);

} // namespace mlcb
