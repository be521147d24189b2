// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/Wait.h"

#include <algorithm>
#include <cerrno>

namespace mlcb {
namespace {

using namespace std::chrono_literals;

// Interval at which a wait asks whether it is interrupted: a signal may have gone to another thread.
constexpr auto InterruptPeriod = 100ms;
// Interval at which a named FIFO is tried again.
constexpr auto RetryPeriod = 2ms;

/// Milliseconds for poll(), rounded up so that a wait never ends early only to spin.
int pollTimeout(Clock::duration Left) {
  const auto Milliseconds = std::chrono::ceil<std::chrono::milliseconds>(Left).count();
  return static_cast<int>(std::clamp<int64_t>(Milliseconds, 0, 1 << 30));
}

} // namespace

Expected<bool> waitFor(std::span<pollfd> Watched, Deadline Until, const InterruptCheck &Interrupted) {
  for (;;) {
    const auto Now = Clock::now();
    auto Left = Until == Never ? Clock::duration::max() : Until - Now;
    if (Interrupted)
      Left = std::min<Clock::duration>(Left, InterruptPeriod);
    const int Ready = ::poll(Watched.data(), Watched.size(), Left == Clock::duration::max() ? -1 : pollTimeout(Left));
    if (Ready > 0)
      return true;
    if (Ready < 0 && errno != EINTR)
      return failErrno("poll");
    if (Interrupted && Interrupted())
      return fail(ErrorKind::Interrupted, "the wait was interrupted");
    if (Clock::now() >= Until)
      return false;
  }
}

Expected<bool> waitFor(int Fd, short Events, Deadline Until, const InterruptCheck &Interrupted) {
  pollfd Watched[] = {{Fd, Events, 0}};
  return waitFor(Watched, Until, Interrupted);
}

bool hungUp(int Fd) {
  pollfd Watched{Fd, POLLIN, 0};
  return ::poll(&Watched, 1, 0) > 0 && (Watched.revents & (POLLHUP | POLLERR | POLLNVAL));
}

Expected<bool> pauseUntil(Deadline Until, const InterruptCheck &Interrupted) {
  const auto Now = Clock::now();
  if (Now >= Until)
    return false;
  auto Done = waitFor(-1, 0, std::min(Until, Now + RetryPeriod), Interrupted);
  return Done ? Expected<bool>(true) : Done;
}

} // namespace mlcb
