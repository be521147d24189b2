// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/ParentDeathSignal.h"

#include <csignal>
#include <sys/prctl.h>
#include <unistd.h>

namespace mlcb {

void endWithParent(int Parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != Parent)
    _exit(0);
}

} // namespace mlcb
