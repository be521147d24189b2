// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Scope.h"

#include "llvm/tasks/regalloc/Deploy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/Target/TargetMachine.h"

namespace mlcb {

static thread_local OpenRegalloc Innermost;

RegallocConversation *RegallocConversations::about(llvm::StringRef Function) const {
  const auto Found = llvm::find_if(Talks, [&](const auto &Talk) { return Talk->isAbout(Function); });
  return Found == Talks.end() ? nullptr : Found->get();
}

RegallocConversations unadvised(llvm::StringRef, llvm::Module &) { return {}; }

RegallocScope::RegallocScope(OpenRegalloc Open) : Outer(std::exchange(Innermost, std::move(Open))) {}
RegallocScope::~RegallocScope() { Innermost = std::move(Outer); }

bool isRegallocScoped() { return static_cast<bool>(Innermost); }

RegallocConversations openRegalloc(llvm::StringRef Task, llvm::Module &M, const llvm::Pass &Asking) {
  if (Innermost)
    return Innermost(Task, M);
  return regallocOfCommandLine(Task, M, Asking.getAnalysisIfAvailable<llvm::TargetPassConfig>()->getTM<llvm::TargetMachine>());
}

unsigned firstUseOf(const llvm::Function &F) { return Innermost ? 0 : firstUseOfCommandLine(F); }

} // namespace mlcb
