// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's inliner asks a policy: its own MLInlineAdvisor with our runner behind it.
#pragma once

#include "llvm/tasks/inliner/Conversation.h"

#include "llvm/Analysis/InlineAdvisor.h"

#include <functional>
#include <memory>

namespace mlcb {

/// Whoever is asked about a module, for as long as its inliner works; null where LLVM's heuristic is to decide.
using OpenQuestions = std::function<std::shared_ptr<InlineConversation>(llvm::Module &M)>;

/// Makes the inliner of the host's pipelines, which are run with this manager, ask. Of several hosts on a thread the last is at work.
void adviseHost(llvm::ModuleAnalysisManager &Modules, OpenQuestions Open);

/// Makes the inliner of pipelines run with another manager ask while it lives.
class InlineAdvisorScope {
public:
  InlineAdvisorScope(llvm::ModuleAnalysisManager &Modules, OpenQuestions Open);
  ~InlineAdvisorScope();
  InlineAdvisorScope(const InlineAdvisorScope &) = delete;
  InlineAdvisorScope &operator=(const InlineAdvisorScope &) = delete;

private:
  llvm::ModuleAnalysisManager *OuterModules;
  OpenQuestions OuterOpen;
};

} // namespace mlcb
