// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The conversation that the allocator of this thread is to use.
#pragma once

#include "llvm/tasks/regalloc/Conversation.h"

#include <functional>
#include <memory>
#include <vector>

namespace llvm {
class Function;
class Pass;
} // namespace llvm

namespace mlcb {

/// The conversations of a task about a module, each about functions of its own; LLVM decides about all others.
struct RegallocConversations {
  std::vector<std::shared_ptr<RegallocConversation>> Talks;
  std::shared_ptr<const void> Kept = nullptr; // for as long as they last

  /// The one about a function; null where LLVM decides.
  RegallocConversation *about(llvm::StringRef Function) const;
};

/// Opens the conversations of a task about a module, which last until its code is generated.
using OpenRegalloc = std::function<RegallocConversations(llvm::StringRef Task, llvm::Module &M)>;

/// Opens none: LLVM's own advisors decide.
RegallocConversations unadvised(llvm::StringRef Task, llvm::Module &M);

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

/// Whether a scope of this thread says who decides.
bool isRegallocScoped();

/// As the innermost scope of this thread has it; without one, the policies of the command line. Asking is a pass of the code generation.
RegallocConversations openRegalloc(llvm::StringRef Task, llvm::Module &M, const llvm::Pass &Asking);

/// Likewise, the cost of a first callee-saved register in a function (see FirstUseScope).
unsigned firstUseOf(const llvm::Function &F);

} // namespace mlcb
