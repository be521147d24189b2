// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a worker grants to who asks it for episodes.
#pragma once

#include "llvm/worker/BeginRequest.h"

namespace mlcb {

/// All that may be asked, unless a server says less.
struct Terms {
  Limits Most;       // zero means none
  bool Paths = true; // programs may be files of this machine
  bool Runs = true;  // programs may be run, to be timed

  /// Lowers the limits of a request to those that are granted; an error where it asks for what is not granted.
  Expected<void> applyTo(BeginRequest &Asked) const;
};

} // namespace mlcb
