// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An advisor of ours where LLVM's allocator makes one of its own.
#pragma once

#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CommandLine.h"

namespace mlcb {

/// As long as the process runs, LLVM makes an Ours where it would make its default Analysis. Where the command line sets the option by
/// which another one of LLVM's is chosen, it is made as before. One static object beside each Ours.
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
