// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The limits of an episode: CPU time, time of a turn, memory.
#pragma once

#include "spec/Error.h"

#include <algorithm>
#include <cstdint>

namespace mlcb {

/// Zero means no limit.
struct Limits {
  double CpuSeconds = 0;    // of the whole episode; of a clone with what its original took before
  double TurnSeconds = 0;   // of one turn of the compiler, by the clock
  uint64_t MemoryBytes = 0; // of address space beyond what the process has when the limit is set

  /// Keeps each within what Most has, where that has one; a negative one is an error.
  Expected<void> lowerTo(const Limits &Most);

  /// Limits CPU time and memory of this process, and forbids core dumps. Beyond them come SIGXCPU and failing allocations.
  void apply() const;

  /// Limits the CPU time of this process to what others have left of it.
  void applyCpu(double Spent) const;
};

/// Counts the time of the compiler's own turn; SIGALRM when it is up.
class TurnClock {
public:
  explicit TurnClock(double Seconds) : Seconds(Seconds) {}

  void start() const { set(std::max(Seconds, 1e-5)); } // a timer of 0 would be none
  void stop() const { set(0); }

private:
  void set(double Left) const;
  double Seconds;
};

/// Ends this process at once, whatever it is doing, when the other end of the socket closes.
void endWithPeer(int Socket);

} // namespace mlcb
