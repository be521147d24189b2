// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Waiting for a descriptor, with a deadline.
#pragma once

#include "channel/Channel.h"

namespace mlcb {

/// Waits for one of the poll() events (or a hang-up); false at the deadline.
Expected<bool> waitFor(int Fd, short Events, Deadline Until, const InterruptCheck &Interrupted);

/// Whether the other end of a descriptor has hung up.
bool hungUp(int Fd);

/// Sleeps a little, not beyond the deadline; false at the deadline.
Expected<bool> pauseUntil(Deadline Until, const InterruptCheck &Interrupted);

} // namespace mlcb
