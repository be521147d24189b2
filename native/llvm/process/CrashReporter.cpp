// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/CrashReporter.h"

#include "protocol/Frame.h"
#include "runner/RemoteRunner.h"
#include "llvm/process/CurrentActivity.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;

namespace mlcb {

namespace {

const RemoteRunner *Listener;

/// An Error frame put together without the heap.
class ErrorFrame {
public:
  void append(StringRef Text) {
    size_t Fits = std::min(Text.size(), sizeof Bytes - Size);
    std::transform(Text.begin(), Text.begin() + Fits, Bytes + Size, [](char C) { return C < ' ' && C >= 0 ? ' ' : C; });
    Size += Fits;
  }

  void send(int Fd, uint32_t Sequence) {
    auto Length = static_cast<uint32_t>(Size - FrameHeader::Size);
    FrameHeaderBytes Header = encode({FrameKind::Error, 0, 0, Sequence, Length});
    std::memcpy(Bytes, Header.data(), Header.size());
    (void)::send(Fd, Bytes, Size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

private:
  char Bytes[4096];
  size_t Size = FrameHeader::Size;
};

struct Ending {
  int Signal;
  StringLiteral Sentence;
};

constexpr Ending Endings[] = {
    {SIGSEGV, "the compiler crashed (segmentation fault)"},
    {SIGBUS, "the compiler crashed (bus error)"},
    {SIGILL, "the compiler crashed (illegal instruction)"},
    {SIGFPE, "the compiler crashed (arithmetic error)"},
    {SIGABRT, "the compiler crashed (abort)"},
    {SIGTRAP, "the compiler crashed (trap)"},
    {SIGXCPU, "the compiler used up its CPU time"},
    {SIGALRM, "the compiler took too long for one turn"},
};

void onSignal(int Signal) {
  reportAndExit(find_if(Endings, [=](const Ending &Each) { return Each.Signal == Signal; })->Sentence);
}

void handleSignals() {
  static char Stack[64 << 10]; // a crash by endless recursion leaves no other
  stack_t Alternate{Stack, 0, sizeof Stack};
  sigaltstack(&Alternate, nullptr);
  struct sigaction Action{};
  Action.sa_handler = onSignal;
  Action.sa_flags = SA_ONSTACK;
  sigfillset(&Action.sa_mask); // the first report is the right one
  for (const Ending &Each : Endings)
    sigaction(Each.Signal, &Action, nullptr);
}

void onFatalError(void *, const char *Reason, bool) { reportAndExit(Reason); }
void onBadAlloc(void *, const char *, bool) { reportAndExit("the compiler ran out of memory"); }

/// Without it LLVM prints an error and calls exit().
struct ErrorsAreFatal final : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &Info) override {
    if (Info.getSeverity() == DS_Error) {
      std::string Text;
      raw_string_ostream Stream(Text);
      DiagnosticPrinterRawOStream Printer(Stream);
      Info.print(Printer);
      reportAndExit(Text);
    }
    return true;
  }
};

} // namespace

void reportAndExit(StringRef What) {
  ErrorFrame Frame;
  Frame.append(What);
  if (StringRef Doing = CurrentActivity::current(); !Doing.empty()) {
    Frame.append(", during ");
    Frame.append(Doing);
  }
  Frame.send(Listener->fileno(), Listener->nextSequence());
  _exit(1);
}

void reportCrashesTo(const RemoteRunner &Runner, LLVMContext &Context) {
  Listener = &Runner;
  handleSignals();
  std::set_new_handler([] { reportAndExit("the compiler ran out of memory"); });
  install_bad_alloc_error_handler(onBadAlloc);
  install_fatal_error_handler(onFatalError);
  Context.setDiagnosticHandler(std::make_unique<ErrorsAreFatal>());
}

} // namespace mlcb
