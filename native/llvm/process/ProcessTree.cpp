// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/ProcessTree.h"

#include "llvm/process/ParentDeathSignal.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mlcb {

namespace {

sigset_t watchedSignals() {
  sigset_t Watched;
  sigemptyset(&Watched);
  sigaddset(&Watched, SIGCHLD);
  sigaddset(&Watched, SIGTERM); // the parent's death
  return Watched;
}

bool hasEnded(pid_t Root) {
  siginfo_t Ended{};
  return waitid(P_PID, static_cast<id_t>(Root), &Ended, WEXITED | WNOHANG | WNOWAIT) != 0 || Ended.si_pid == Root;
}

/// Orphans of the tree become this process's children, one generation after the other.
void killChildren() {
  std::ifstream List("/proc/thread-self/children");
  for (pid_t Child = 0; List >> Child;)
    kill(Child, SIGKILL);
}

/// The process between: it has nothing of its own but the tree below.
[[noreturn]] void keep(pid_t Parent, llvm::function_ref<void()> Work, int &Status) {
  const sigset_t Watched = watchedSignals();
  sigprocmask(SIG_BLOCK, &Watched, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t Keeper = getpid();
  const pid_t Root = getppid() == Parent ? fork() : -1;
  if (Root < 0)
    _exit(1);
  if (Root == 0) {
    endWithParent(Keeper);
    setpgid(0, 0);
    sigprocmask(SIG_UNBLOCK, &Watched, nullptr);
    Work();
    _exit(1);
  }
  close_range(3, ~0u, 0); // the ends of channels, which must close with the parent
  for (int Signal = 0; !hasEnded(Root) && Signal != SIGTERM;)
    sigwait(&Watched, &Signal);
  kill(-Root, SIGKILL);
  kill(Root, SIGKILL);
  waitpid(Root, &Status, 0);
  for (killChildren(); waitpid(-1, nullptr, 0) > 0;)
    killChildren();
  _exit(0);
}

Expected<int> wait(pid_t Child) {
  if (Child < 0)
    return failErrno("fork");
  int Status = 0;
  while (waitpid(Child, &Status, 0) < 0)
    if (errno != EINTR)
      return failErrno("waitpid");
  return Status;
}

} // namespace

Expected<int> runAsTree(llvm::function_ref<void()> Work) {
  void *Page = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (Page == MAP_FAILED)
    return failErrno("mmap");
  auto *Status = new (Page) int(0);
  const pid_t Self = getpid(), Keeper = fork();
  if (Keeper == 0)
    keep(Self, Work, *Status);
  const Expected<int> Kept = wait(Keeper);
  const int Final = *Status;
  munmap(Page, sizeof(int));
  if (Kept && *Kept != 0)
    return fail(ErrorKind::SystemError, "a process cannot be made, or was killed");
  return Kept.map([&](int) { return Final; });
}

} // namespace mlcb
