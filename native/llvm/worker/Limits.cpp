// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/Limits.h"

#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

namespace mlcb {

namespace {

uint64_t addressSpaceBytes() {
  unsigned long Pages = 0;
  std::ifstream("/proc/self/statm") >> Pages;
  return uint64_t{Pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit(int Resource, uint64_t Soft, uint64_t Hard) {
  rlimit Values{Soft, Hard};
  setrlimit(static_cast<__rlimit_resource_t>(Resource), &Values);
}

int WatchedSocket = -1;

bool hasHungUp(int Socket) {
  pollfd Watched{Socket, POLLRDHUP, 0};
  return poll(&Watched, 1, 0) > 0 && (Watched.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void onSocketEvent(int) {
  if (hasHungUp(WatchedSocket))
    _exit(0);
}

} // namespace

void Limits::apply() const {
  limit(RLIMIT_CORE, 0, 0);
  if (CpuSeconds > 0) {
    auto Seconds = static_cast<uint64_t>(std::ceil(CpuSeconds));
    limit(RLIMIT_CPU, Seconds, Seconds + 1); // SIGKILL one second later
  }
  if (MemoryBytes > 0) {
    uint64_t Bytes = addressSpaceBytes() + MemoryBytes;
    limit(RLIMIT_AS, Bytes, Bytes);
  }
}

void TurnClock::set(double Left) const {
  if (Seconds <= 0)
    return;
  double Whole;
  double Fraction = std::modf(Left, &Whole);
  itimerval Timer{{0, 0}, {static_cast<time_t>(Whole), static_cast<suseconds_t>(Fraction * 1e6)}};
  setitimer(ITIMER_REAL, &Timer, nullptr);
}

void endWithPeer(int Socket) {
  WatchedSocket = Socket;
  struct sigaction Action{};
  Action.sa_handler = onSocketEvent;
  Action.sa_flags = SA_RESTART;
  sigaction(SIGIO, &Action, nullptr);
  fcntl(Socket, F_SETOWN, getpid());
  fcntl(Socket, F_SETFL, fcntl(Socket, F_GETFL) | O_ASYNC);
  onSocketEvent(SIGIO); // it may have closed before
}

} // namespace mlcb
