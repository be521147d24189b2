// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/HeldFork.h"

#include "llvm/process/ParentDeathSignal.h"
#include "llvm/process/Signals.h"

#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mlcb {

namespace {

constexpr char End = '\0'; // last byte of a text, which no text has

/// False where the other end is gone.
bool writeText(int To, const std::string &Text) {
  for (std::string_view Rest(Text.c_str(), Text.size() + 1); !Rest.empty();) {
    const ssize_t Written = send(To, Rest.data(), Rest.size(), MSG_NOSIGNAL);
    if (Written < 0 && errno != EINTR)
      return false;
    Rest.remove_prefix(Written > 0 ? static_cast<size_t>(Written) : 0);
  }
  return true;
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
  /// Outer's are told first, by the process that has kept them.
  explicit KeptErrors(const KeptErrors *Outer)
      : Original(fcntl(Outer ? Outer->Original.get() : STDERR_FILENO, F_DUPFD_CLOEXEC, 0)), Kept(memfd_create("stderr", MFD_CLOEXEC)) {
    dup2(Kept.get(), STDERR_FILENO);
  }

  void giveBack() {
    dup2(Original.get(), STDERR_FILENO);
    lseek(Kept.get(), 0, SEEK_SET);
    char Part[4096];
    llvm::raw_fd_ostream Out(STDERR_FILENO, /*shouldClose=*/false, /*unbuffered=*/true);
    for (ssize_t Got; (Got = read(Kept.get(), Part, sizeof Part)) > 0;)
      Out.write(Part, static_cast<size_t>(Got));
    Out.clear_error(); // who hears it may be gone
  }

private:
  FileDescriptor Original, Kept;
};

/// As the original process had it.
const struct sigaction &whenChildrenEnd() {
  static const struct sigaction Original = [] {
    struct sigaction Now{};
    sigaction(SIGCHLD, nullptr, &Now);
    return Now;
  }();
  return Original;
}

/// Where children are ignored, nobody learns how they ended.
void heedChildren() {
  whenChildrenEnd();
  struct sigaction Default{};
  Default.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &Default, nullptr);
}

/// What the fork is held by.
struct Hold {
  FileDescriptor Original; // the end of a socket
  KeptErrors Errors;
  size_t WritableFiles;
  Handlers Before; // of the process that was not held yet

  /// Outer held the process that this is a fork of.
  Hold(FileDescriptor Original, unsigned MaxSeconds, std::unique_ptr<Hold> Outer)
      : Original(std::move(Original)), Errors(Outer ? &Outer->Errors : nullptr), Before(Outer ? Outer->Before : makeSignalsDeadly()) {
    Outer.reset();
    WritableFiles = countWritableFiles();
    alarm(MaxSeconds);
  }

  void release() {
    alarm(0);
    for (size_t I = 0; I < Deadly.size(); ++I)
      sigaction(Deadly[I], &Before[I], nullptr);
    sigaction(SIGCHLD, &whenChildrenEnd(), nullptr);
    Errors.giveBack();
  }
};

std::unique_ptr<Hold> Held;

int waitFor(int Process) {
  int Status = W_EXITCODE(EXIT_FAILURE, 0);
  while (waitpid(Process, &Status, 0) < 0 && errno == EINTR)
    ;
  return Status;
}

[[noreturn]] void endAs(int Status) {
  if (!WIFSIGNALED(Status))
    _exit(WEXITSTATUS(Status));
  std::signal(WTERMSIG(Status), SIG_DFL);
  std::raise(WTERMSIG(Status));
  _exit(128 + WTERMSIG(Status)); // where that signal is blocked
}

} // namespace

Expected<std::unique_ptr<HeldFork>> HeldFork::start(unsigned MaxSeconds) {
  int Ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, Ends) != 0)
    return failErrno("socketpair");
  FileDescriptor Own(Ends[0]), Its(Ends[1]);
  heedChildren();
  const pid_t Original = getpid();
  const pid_t Fork = fork();
  if (Fork < 0)
    return failErrno("fork");
  if (Fork == 0) {
    endWithParent(Original);
    Held = std::make_unique<Hold>(std::move(Its), MaxSeconds, std::move(Held));
    return nullptr;
  }
  return std::unique_ptr<HeldFork>(new HeldFork(Fork, Original, std::move(Own)));
}

HeldFork::~HeldFork() {
  if (getpid() != Original) // a fork has those before it too, which are not its own
    return;
  kill(Process, SIGKILL);
  waitFor(Process);
}

std::optional<std::string> HeldFork::wait() { return readText(Fork.get()); }

void HeldFork::finish(const std::string &Answer) {
  heedChildren(); // this process may have been held itself, and released since it made the fork
  if (writeText(Fork.get(), Answer))
    endAs(waitFor(Process));
}

bool HeldFork::isHeld() { return Held != nullptr; }

void HeldFork::waitWithoutLimit() { alarm(0); }

void HeldFork::refuse() {
  writeText(Held->Original.get(), "");
  _exit(EXIT_FAILURE);
}

std::string HeldFork::ask(const std::string &Found) {
  if (countWritableFiles() > Held->WritableFiles)
    refuse();
  writeText(Held->Original.get(), Found);
  alarm(0); // the original process may have to wait for others first
  std::optional<std::string> Answer = readText(Held->Original.get());
  if (!Answer)
    _exit(EXIT_FAILURE);
  Held->release();
  Held.reset();
  return *Answer;
}

} // namespace mlcb
