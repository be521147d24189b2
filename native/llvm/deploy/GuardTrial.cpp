// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/GuardTrial.h"

#include "llvm/process/ForkedProbe.h"

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>
#include <thread>
#include <unistd.h>

using namespace llvm;

namespace mlcb {

namespace {

constexpr unsigned MaxSeconds = 600;

struct ErrorsEndTheProcess final : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &Info) override {
    if (Info.getSeverity() == DS_Error)
      _exit(1);
    return true;
  }
};

/// A fork must not run the host's handlers, which remove its output, nor write to its file of remarks.
void endSilentlyOnErrors(LLVMContext &Context) {
  remove_fatal_error_handler();
  install_fatal_error_handler([](void *, const char *, bool) { _exit(1); });
  Context.setDiagnosticHandler(std::make_unique<ErrorsEndTheProcess>());
  Context.setLLVMRemarkStreamer(nullptr);
}

/// What other threads have locked stays locked in a fork.
bool isOneThread() {
  static const std::thread::id First = std::this_thread::get_id();
  if (std::this_thread::get_id() == First)
    return true;
  static std::once_flag Said;
  std::call_once(Said,
                 [] { errs() << "mlcb: warning: -mlcb-guard in a link by several threads keeps what stock does: expected -Wl,--thinlto-jobs=1\n"; });
  return false;
}

} // namespace

std::optional<std::string> tryInFork(Module &M, function_ref<std::string()> Trial) {
  if (!isOneThread())
    return std::nullopt;
  return probe(
             [&] {
               endSilentlyOnErrors(M.getContext());
               return Trial();
             },
             MaxSeconds)
      .value_or(std::nullopt);
}

} // namespace mlcb
