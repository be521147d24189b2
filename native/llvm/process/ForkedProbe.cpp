// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/ForkedProbe.h"

#include "spec/FileDescriptor.h"
#include "llvm/process/ParentDeathSignal.h"
#include "llvm/process/Signals.h"

#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mlcb {

static constexpr char Finished = '\0'; // last byte, which no text has: what stands before it is all that the task said

static bool Probing = false;

bool isProbe() { return Probing; }

[[noreturn]] static void runAndReport(llvm::function_ref<std::string()> Task, int Out, unsigned MaxSeconds) {
  (void)makeSignalsDeadly();
  alarm(MaxSeconds);
  Probing = true;
  int Null = open("/dev/null", O_WRONLY);
  dup2(Null, STDOUT_FILENO);
  dup2(Null, STDERR_FILENO);
  llvm::raw_fd_ostream Stream(Out, /*shouldClose=*/false, /*unbuffered=*/true);
  Stream << Task() + Finished;
  _exit(Stream.has_error());
}

static std::string readAll(int In) {
  std::string All;
  char Part[4096];
  for (ssize_t Got; (Got = read(In, Part, sizeof Part)) != 0;)
    if (Got > 0)
      All.append(Part, static_cast<size_t>(Got));
    else if (errno != EINTR)
      break;
  return All;
}

Expected<std::optional<std::string>> probe(llvm::function_ref<std::string()> Task, unsigned MaxSeconds) {
  int Pipe[2];
  if (pipe2(Pipe, O_CLOEXEC) != 0)
    return failErrno("pipe");
  FileDescriptor In(Pipe[0]), Out(Pipe[1]);
  const pid_t Parent = getpid();
  pid_t Child = fork();
  if (Child < 0)
    return failErrno("fork");
  if (Child == 0) {
    endWithParent(Parent);
    runAndReport(Task, Out.get(), MaxSeconds);
  }
  Out.reset();
  std::string Report = readAll(In.get());
  while (waitpid(Child, nullptr, 0) < 0 && errno == EINTR)
    ;
  if (!Report.ends_with(Finished))
    return std::nullopt;
  Report.pop_back();
  return Report;
}

Expected<void> examineInFork(llvm::function_ref<std::string()> Task, const std::string &Crashed) {
  const auto Said = probe(Task);
  if (!Said)
    return Unexpected(Said.error());
  const std::string Wrong = Said->value_or(Crashed);
  return Wrong.empty() ? Expected<void>() : fail(ErrorKind::InvalidArgument, Wrong);
}

} // namespace mlcb
