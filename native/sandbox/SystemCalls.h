// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system calls that a process may make: Linux's seccomp.
#pragma once

#include "spec/Error.h"

#include <linux/filter.h>
#include <vector>

namespace mlcb {

/// A process that enters these makes no other ones (EPERM). It cannot leave them, and its forks inherit them.
class SystemCalls {
public:
  /// Those of a compiler: it opens files and makes none, forks, and runs no other program. There is no network, no look into or hold on another
  /// process, no mount, no mode or owner of a file to be changed, and nothing of which the kernel asks for privileges.
  static Expected<SystemCalls> ofCompilers();

  /// Those of a program that a compiler times: as above, without further processes. It may have threads.
  static Expected<SystemCalls> ofPrograms();

  /// Before, the process must have given up new privileges.
  Expected<void> enter() const;

private:
  explicit SystemCalls(std::vector<sock_filter> Filter) : Filter(std::move(Filter)) {}

  std::vector<sock_filter> Filter;
};

} // namespace mlcb
