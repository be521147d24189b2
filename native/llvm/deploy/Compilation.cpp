// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/Compilation.h"

#include "llvm/process/ForkedProbe.h"
#include "llvm/process/HeldFork.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Signals.h"

using namespace llvm;

namespace mlcb {

/// One line: a terminal would act on control characters of a policy's names.
static std::string printable(StringRef Text) {
  std::string Shown;
  for (const char C : Text)
    Shown += isPrint(C) || (C & '\x80') ? std::string(1, C) : "\\x" + toHex(StringRef(&C, 1));
  return Shown;
}

void failCompilation(Module &M, const Error &Why) {
  if (hasFailed(M))
    return;
  if (!isProbe() && !HeldFork::isHeld())
    sys::RunInterruptHandlers(); // opt ends inside emitError and would leave an empty output
  M.getContext().emitError("mlcb: " + printable(Why.Message));
}

bool hasFailed(const Module &M) { return M.getContext().getDiagHandlerPtr()->HasErrors; }

} // namespace mlcb
