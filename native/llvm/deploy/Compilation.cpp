// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/Compilation.h"

#include "llvm/process/ForkedProbe.h"
#include "llvm/process/HeldFork.h"

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Signals.h"

using namespace llvm;

namespace mlcb {

void failCompilation(Module &M, const Error &Why) {
  if (hasFailed(M))
    return;
  if (!isProbe() && !HeldFork::isHeld())
    sys::RunInterruptHandlers(); // opt ends inside emitError and would leave an empty output
  M.getContext().emitError("mlcb: " + Why.Message);
}

bool hasFailed(const Module &M) { return M.getContext().getDiagHandlerPtr()->HasErrors; }

} // namespace mlcb
