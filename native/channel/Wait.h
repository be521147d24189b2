// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waiting for a descriptor, with a deadline.
#pragma once

#include "channel/Channel.h"

#include <poll.h>
#include <span>

namespace mlcb {

/// Waits for one of the poll() events (or a hang-up) of any of the descriptors; false at the deadline.
Expected<bool> waitFor(std::span<pollfd> Watched, Deadline Until, const InterruptCheck &Interrupted);

/// Waits for one descriptor alone.
Expected<bool> waitFor(int Fd, short Events, Deadline Until, const InterruptCheck &Interrupted);

/// Whether the other end of a descriptor has hung up.
bool hungUp(int Fd);

/// Sleeps a little, not beyond the deadline; false at the deadline.
Expected<bool> pauseUntil(Deadline Until, const InterruptCheck &Interrupted);

} // namespace mlcb
