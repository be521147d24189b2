// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/Signals.h"

namespace mlcb {

Handlers makeSignalsDeadly() {
  Handlers Before{};
  struct sigaction Default{};
  Default.sa_handler = SIG_DFL;
  for (size_t I = 0; I < Deadly.size(); ++I) {
    sigaction(Deadly[I], nullptr, &Before[I]);
    if (Before[I].sa_handler != SIG_IGN || Deadly[I] == SIGALRM) // the limit of time
      sigaction(Deadly[I], &Default, nullptr);
  }
  return Before;
}

} // namespace mlcb
