// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/HeldFork.h"

#include "channel/FileDescriptor.h"
#include "llvm/process/ParentDeathSignal.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mlcb {

namespace {

constexpr char End = '\0'; // last byte of a text, which no text has

constexpr std::array CrashSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGALRM};

void writeText(int To, const std::string &Text) {
  for (std::string_view Rest(Text.c_str(), Text.size() + 1); !Rest.empty();) {
    const ssize_t Written = write(To, Rest.data(), Rest.size());
    if (Written < 0 && errno != EINTR)
      return;
    Rest.remove_prefix(Written > 0 ? static_cast<size_t>(Written) : 0);
  }
}

/// Nothing where the other end is closed before the text has ended.
std::optional<std::string> readText(int From) {
  std::string Text;
  char Part[512];
  while (true) {
    const ssize_t Got = read(From, Part, sizeof Part);
    if (Got == 0 || (Got < 0 && errno != EINTR))
      return std::nullopt;
    Text.append(Part, Got > 0 ? static_cast<size_t>(Got) : 0);
    if (!Text.empty() && Text.back() == End) {
      Text.pop_back();
      return Text;
    }
  }
}

/// Files of a disk that this process may write.
size_t countWritableFiles() {
  size_t Count = 0;
  std::error_code Ignored;
  for (const auto &Entry : std::filesystem::directory_iterator("/proc/self/fd", Ignored)) {
    const int Fd = static_cast<int>(std::strtol(Entry.path().filename().c_str(), nullptr, 10));
    struct stat Status;
    const int Flags = fcntl(Fd, F_GETFL);
    if (Flags >= 0 && (Flags & O_ACCMODE) != O_RDONLY && fstat(Fd, &Status) == 0 && S_ISREG(Status.st_mode))
      ++Count;
  }
  return Count;
}

/// Standard error, kept back in memory.
class KeptErrors {
public:
  KeptErrors() : Original(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)), Kept(memfd_create("stderr", MFD_CLOEXEC)) { dup2(Kept.get(), STDERR_FILENO); }

  void giveBack() {
    dup2(Original.get(), STDERR_FILENO);
    lseek(Kept.get(), 0, SEEK_SET);
    char Part[4096];
    for (ssize_t Got; (Got = read(Kept.get(), Part, sizeof Part)) > 0;)
      if (write(STDERR_FILENO, Part, static_cast<size_t>(Got)) < 0)
        return;
  }

private:
  FileDescriptor Original, Kept;
};

/// What the fork is held by.
struct Hold {
  int Questions, Answers;
  KeptErrors Errors;
  size_t WritableFiles = countWritableFiles();
  std::array<struct sigaction, CrashSignals.size()> Handlers{}; // of the original process

  Hold(int Questions, int Answers, unsigned MaxSeconds) : Questions(Questions), Answers(Answers) {
    struct sigaction Default{};
    Default.sa_handler = SIG_DFL;
    for (size_t I = 0; I < CrashSignals.size(); ++I)
      sigaction(CrashSignals[I], &Default, &Handlers[I]);
    alarm(MaxSeconds);
  }

  void release() {
    alarm(0);
    for (size_t I = 0; I < CrashSignals.size(); ++I)
      sigaction(CrashSignals[I], &Handlers[I], nullptr);
    Errors.giveBack();
    close(Questions);
    close(Answers);
  }
};

std::unique_ptr<Hold> Held;

int waitFor(int Process) {
  int Status = 0;
  while (waitpid(Process, &Status, 0) < 0 && errno == EINTR)
    ;
  return Status;
}

[[noreturn]] void endAs(int Status) {
  if (WIFSIGNALED(Status)) {
    std::signal(WTERMSIG(Status), SIG_DFL);
    std::raise(WTERMSIG(Status));
  }
  _exit(WEXITSTATUS(Status));
}

} // namespace

Expected<std::unique_ptr<HeldFork>> HeldFork::start(unsigned MaxSeconds) {
  int Ask[2], Answer[2];
  if (pipe2(Ask, O_CLOEXEC) != 0)
    return failErrno("pipe");
  FileDescriptor AskIn(Ask[0]), AskOut(Ask[1]);
  if (pipe2(Answer, O_CLOEXEC) != 0)
    return failErrno("pipe");
  FileDescriptor AnswerIn(Answer[0]), AnswerOut(Answer[1]);
  const pid_t Original = getpid();
  const pid_t Fork = fork();
  if (Fork < 0)
    return failErrno("fork");
  if (Fork == 0) {
    endWithParent(Original);
    AskIn.reset();
    AnswerOut.reset();
    Held = std::make_unique<Hold>(AskOut.release(), AnswerIn.release(), MaxSeconds);
    return nullptr;
  }
  AskOut.reset();
  AnswerIn.reset();
  return std::unique_ptr<HeldFork>(new HeldFork(Fork, AskIn.release(), AnswerOut.release()));
}

HeldFork::~HeldFork() {
  if (!isHeld()) { // a fork has those before it too, which are not its own
    kill(Process, SIGKILL);
    waitFor(Process);
  }
  close(Questions);
  close(Answers);
}

std::optional<std::string> HeldFork::wait() { return readText(Questions); }

void HeldFork::finish(const std::string &Answer) {
  writeText(Answers, Answer);
  endAs(waitFor(Process));
}

bool HeldFork::isHeld() { return Held != nullptr; }

std::string HeldFork::ask(const std::string &Found) {
  if (countWritableFiles() > Held->WritableFiles)
    _exit(EXIT_FAILURE);
  writeText(Held->Questions, Found);
  alarm(0); // the original process may have to wait for others first
  std::optional<std::string> Answer = readText(Held->Answers);
  if (!Answer)
    _exit(EXIT_FAILURE);
  Held->release();
  Held.reset();
  return *Answer;
}

} // namespace mlcb
