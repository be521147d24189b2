// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learner's end of BASE.in and BASE.out, where the process at the other end is known, and knows nothing of our channels.
#pragma once

#include "channel/FdChannel.h"

#include <string>
#include <sys/types.h>

namespace mlcb {

/// Both FIFOs are open for reading and writing, so that the process may open them in any order, as often as it likes, or never;
/// no end of file comes of that: the end of the process is that of the channel. The process must not have been waited for.
Expected<std::unique_ptr<Channel>> processFifos(const std::string &Base, pid_t Process);

} // namespace mlcb
