// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/Remark.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

void remark(StringRef Kind, const Twine &Message, const Module &M) {
  const auto Body = find_if(M, [](const Function &F) { return !F.isDeclaration(); });
  if (Body != M.end())
    remark(Kind, Message, *Body);
}

/// A message is not even put together for nobody.
static bool isAsked(const LLVMContext &Context) {
  return Context.getLLVMRemarkStreamer() || Context.getDiagHandlerPtr()->isPassedOptRemarkEnabled("mlcb");
}

void remark(StringRef Kind, const Twine &Message, const Function &F) {
  if (!isAsked(F.getContext()))
    return;
  OptimizationRemark Remark("mlcb", Kind, DiagnosticLocation(), &F.getEntryBlock());
  Remark << Message.str();
  F.getContext().diagnose(Remark);
}

} // namespace mlcb
