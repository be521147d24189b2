// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The replacement of an advisor analysis of LLVM's by ours.
#pragma once

#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CommandLine.h"

namespace mlcb {

/// Makes LLVM construct an Ours in place of its default Analysis, for the life of the process. If the command line sets the option that
/// selects another of LLVM's analyses, that one is made as before. One static object beside each Ours.
template <class Analysis, class Ours> class AdvisorSwap {
public:
  AdvisorSwap(void (*Register)(llvm::PassRegistry &), llvm::StringRef Option) {
    llvm::PassRegistry &Registry = *llvm::PassRegistry::getPassRegistry();
    Register(Registry);
    // The registry lends it as const, and has no other way to replace it.
    auto &Info = const_cast<llvm::PassInfo &>(*Registry.getPassInfo(&Analysis::ID));
    Before = Info.getNormalCtor();
    Choice = Option;
    Info.setNormalCtor(make);
  }

private:
  static llvm::Pass *make() {
    const llvm::cl::Option *Given = llvm::cl::getRegisteredOptions().lookup(Choice);
    return Given && Given->getNumOccurrences() > 0 ? Before() : new Ours();
  }

  static inline llvm::PassInfo::NormalCtor_t Before = nullptr;
  static inline llvm::StringRef Choice;
};

} // namespace mlcb
