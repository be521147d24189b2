// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Scope.h"

#include "llvm/tasks/regalloc/Deploy.h"

#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/Target/TargetMachine.h"

namespace mlcb {

static thread_local OpenRegalloc Innermost;

std::shared_ptr<RegallocConversation> unadvised(llvm::StringRef, llvm::Module &) { return nullptr; }

RegallocScope::RegallocScope(OpenRegalloc Open) : Outer(std::exchange(Innermost, std::move(Open))) {}
RegallocScope::~RegallocScope() { Innermost = std::move(Outer); }

std::shared_ptr<RegallocConversation> openRegalloc(llvm::StringRef Task, llvm::Module &M, const llvm::Pass &Asking) {
  if (Innermost)
    return Innermost(Task, M);
  return regallocOfCommandLine(Task, M, Asking.getAnalysisIfAvailable<llvm::TargetPassConfig>()->getTM<llvm::TargetMachine>());
}

} // namespace mlcb
