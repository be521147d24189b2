// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's outliner of alike code, where it is right and affordable.
#pragma once

#include "llvm/IR/PassManager.h"

namespace mlcb {

/// IROutlinerPass, whose name it takes in pipelines. Modules are left as they were where it loses what outlined code computes: in LLVM 22 regions with
/// several exits and one set of outputs may come to blocks that store these and are never reached. Large modules are left alone: its time grows faster than
/// they do (of 270 000 lines it takes three quarters of all passes together), and it is as likely to make them larger as smaller.
class OutlinerPass : public llvm::PassInfoMixin<OutlinerPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &Modules);
};

} // namespace mlcb
