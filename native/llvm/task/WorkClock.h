// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CPU time of the compiler's own work, however busy the machine is.
#pragma once

#include <ctime>

namespace mlcb {

/// The CPU time of a process or a thread, as one of the clocks of clock_gettime() has it.
inline double cpuSeconds(clockid_t Of) {
  timespec Time;
  clock_gettime(Of, &Time);
  return static_cast<double>(Time.tv_sec) + 1e-9 * static_cast<double>(Time.tv_nsec);
}

/// The CPU time of this thread, while it is not paused. A clone by fork() begins again at resume().
class WorkClock {
public:
  void pause() { Before += now() - Resumed; }
  void resume() { Resumed = now(); }
  void reset() { Before = 0; }

  /// Seconds until the last pause().
  double seconds() const { return Before; }

private:
  static double now() { return cpuSeconds(CLOCK_THREAD_CPUTIME_ID); }

  double Before = 0, Resumed = now();
};

/// Pauses a clock for a scope.
class Uncounted {
public:
  explicit Uncounted(WorkClock &Clock) : Clock(Clock) { Clock.pause(); }
  ~Uncounted() { Clock.resume(); }
  Uncounted(const Uncounted &) = delete;
  Uncounted &operator=(const Uncounted &) = delete;

private:
  WorkClock &Clock;
};

} // namespace mlcb
