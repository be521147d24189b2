// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's MLInlineAdvisor, with our runner as the model.
#pragma once

#include "llvm/tasks/inliner/Conversation.h"

#include "llvm/Analysis/InlineAdvisor.h"

#include <functional>
#include <memory>

namespace mlcb {

/// Opens the conversation about a module, which lasts as long as its inliner works; null where LLVM's heuristic is to decide.
using OpenInlineConversation = std::function<std::shared_ptr<InlineConversation>(llvm::Module &M)>;

/// Whether an advisor with these parameters sets an option of LLVM while it lives: the growth limit.
bool setsOptions(const InlinerParameters &Parameters);

/// Makes the inliner of the host's pipelines, which are run with this manager, ask. Of several hosts on a thread the last is at work.
void adviseHost(llvm::ModuleAnalysisManager &Modules, OpenInlineConversation Open);

/// Makes the inliner of pipelines run with another manager ask while it lives.
class InlineAdvisorScope {
public:
  InlineAdvisorScope(llvm::ModuleAnalysisManager &Modules, OpenInlineConversation Open);
  ~InlineAdvisorScope();
  InlineAdvisorScope(const InlineAdvisorScope &) = delete;
  InlineAdvisorScope &operator=(const InlineAdvisorScope &) = delete;

private:
  llvm::ModuleAnalysisManager *OuterModules;
  OpenInlineConversation OuterOpen;
};

} // namespace mlcb
