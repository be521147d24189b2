// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass that gives LLVM's allocator its advisors.
#pragma once

#include "llvm/tasks/regalloc/Scope.h"

#include "llvm/IR/Module.h"

namespace mlcb {

/// LLVM's Analysis, whose advisors ask where there is a conversation about the function. Provider makes the advisors: it has the name of its
/// task, and is constructed from a context and the conversations, which outlive it.
template <class Analysis, class ProviderT> class AdvisorAnalysis final : public Analysis {
public:
  AdvisorAnalysis() : Analysis(Analysis::AdvisorMode::Default) {}

private:
  bool doInitialization(llvm::Module &M) override {
    Talks = openRegalloc(ProviderT::Task, M, *this);
    this->Provider = std::make_unique<ProviderT>(M.getContext(), Talks);
    return false;
  }

  bool doFinalization(llvm::Module &) override {
    this->Provider.reset();
    Talks = {};
    return false;
  }

  RegallocConversations Talks;
};

} // namespace mlcb
