// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/Limits.h"

#include "spec/FileDescriptor.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

namespace mlcb {

namespace {

/// Opened before the sandbox is entered, and the worker's in a child too: they are of one size when the child begins.
const FileDescriptor Statm(open("/proc/self/statm", O_RDONLY | O_CLOEXEC));

uint64_t addressSpaceBytes() {
  char Text[32] = {};
  (void)pread(Statm.get(), Text, sizeof Text - 1, 0);
  return std::strtoull(Text, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit(int Resource, uint64_t Soft, uint64_t Hard) {
  rlimit Values{Soft, Hard};
  setrlimit(static_cast<__rlimit_resource_t>(Resource), &Values);
}

constexpr double Decades = 1e9; // seconds: as good as no limit, and any clock counts them

Expected<void> lower(const char *Name, double &Asked, double Most) {
  if (!(Asked >= 0))
    return fail(ErrorKind::InvalidArgument, std::string("limits: ") + Name + " is " + std::to_string(Asked) + ", expected 0 (none) or more");
  if (Most > 0 && Asked == 0)
    Asked = Most;
  Asked = std::min(Asked, Most > 0 ? Most : Decades);
  return {};
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

Expected<void> Limits::lowerTo(const Limits &Most) {
  if (Most.MemoryBytes > 0)
    MemoryBytes = MemoryBytes == 0 ? Most.MemoryBytes : std::min(MemoryBytes, Most.MemoryBytes);
  return lower("cpu_seconds", CpuSeconds, Most.CpuSeconds).and_then([&] { return lower("turn_seconds", TurnSeconds, Most.TurnSeconds); });
}

void Limits::apply() const {
  limit(RLIMIT_CORE, 0, 0);
  applyCpu(0);
  if (MemoryBytes > 0) {
    const uint64_t Now = addressSpaceBytes(), Bytes = Now + std::min(MemoryBytes, RLIM_INFINITY - Now);
    limit(RLIMIT_AS, Bytes, Bytes);
  }
}

void Limits::applyCpu(double Spent) const {
  if (CpuSeconds <= 0)
    return;
  const auto Seconds = static_cast<uint64_t>(std::ceil(std::max(CpuSeconds - Spent, 1.0)));
  limit(RLIMIT_CPU, Seconds, Seconds + 1); // SIGKILL one second later
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
