// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/GuardTrial.h"

#include "llvm/deploy/LinkTime.h"
#include "llvm/process/ForkedProbe.h"

#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LLVMRemarkStreamer.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SaveAndRestore.h"

#include <unistd.h>

using namespace llvm;

namespace mlcb {

namespace {

constexpr unsigned MaxSeconds = 600;

unsigned PassedLimits = 0; // by functions of a fork; a warning, or an error where the host makes it one

/// Ends the process at an error.
void note(const DiagnosticInfo &Info) {
  if (Info.getSeverity() == DS_Error)
    _exit(EXIT_FAILURE);
  if (isa<DiagnosticInfoResourceLimit>(Info))
    ++PassedLimits;
}

struct ErrorsEndTheProcess final : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &Info) override {
    note(Info);
    return true;
  }
};

/// The host's handler would remove its output.
void endOnFatalErrors() {
  remove_fatal_error_handler();
  install_fatal_error_handler([](void *, const char *, bool) { _exit(EXIT_FAILURE); });
}

/// A fork must not run the host's handlers, nor write to its file of remarks.
void endSilentlyOnErrors(LLVMContext &Context) {
  endOnFatalErrors();
  Context.setDiagnosticHandler(std::make_unique<ErrorsEndTheProcess>());
  Context.setLLVMRemarkStreamer(nullptr);
}

/// The host's, but that an error ends this process while it is held: the host would remove its output.
class HostsWhenReleased final : public DiagnosticHandler {
public:
  explicit HostsWhenReleased(std::unique_ptr<DiagnosticHandler> Host) : Host(std::move(Host)) {}

  bool handleDiagnostics(const DiagnosticInfo &Info) override {
    if (HeldFork::isHeld() && !IsNoted)
      note(Info);
    const SaveAndRestore Noted(IsNoted, true);
    return Host->handleDiagnostics(Info);
  }
  bool isAnalysisRemarkEnabled(StringRef Pass) const override { return Host->isAnalysisRemarkEnabled(Pass); }
  bool isMissedOptRemarkEnabled(StringRef Pass) const override { return Host->isMissedOptRemarkEnabled(Pass); }
  bool isPassedOptRemarkEnabled(StringRef Pass) const override { return Host->isPassedOptRemarkEnabled(Pass); }
  bool isAnyRemarkEnabled() const override { return Host->isAnyRemarkEnabled(); }

private:
  static inline bool IsNoted = false; // by the outermost one: a fork has those of the forks before it too

  std::unique_ptr<DiagnosticHandler> Host;
};

} // namespace

std::optional<std::string> tryInFork(Module &M, function_ref<std::string()> Trial) {
  if (!compilesAlone(M)) // what other threads have locked stays locked in a fork
    return std::nullopt;
  return probe(
             [&] {
               endSilentlyOnErrors(M.getContext());
               return Trial();
             },
             MaxSeconds)
      .value_or(std::nullopt);
}

unsigned limitsPassed() { return PassedLimits; }

Expected<std::unique_ptr<HeldFork>> goOnInFork(Module &M) {
  auto Fork = HeldFork::start(MaxSeconds);
  if (Fork && !*Fork) {
    endOnFatalErrors();
    M.getContext().setDiagnosticHandler(std::make_unique<HostsWhenReleased>(M.getContext().getDiagnosticHandler()));
  }
  return Fork;
}

std::string askToFinish(const std::string &Found) {
  std::string Answer = HeldFork::ask(Found);
  remove_fatal_error_handler(); // LLVM's own removes what is half written
  return Answer;
}

} // namespace mlcb
