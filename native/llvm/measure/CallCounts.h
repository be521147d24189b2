// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Run counts of a module's functions, from their calls of each other.
#pragma once

#include "llvm/ADT/SmallVector.h"

namespace mlcb::measure {

struct CallNode;

struct Call {
  CallNode *Callee;
  double Frequency; // for each run of the caller
};

struct CallNode {
  llvm::SmallVector<Call, 0> Calls;
  double Count = 0; // of runs
};

/// Sets the counts of what Outside calls, directly or not; Outside runs once.
///
/// Recursion is bounded, as how deep it goes is not known: it goes as many levels deep as LLVM takes a loop of unknown length to run, and no
/// level has more runs than there were entries from elsewhere, wherever the frequencies would multiply them.
void countCalls(CallNode &Outside);

} // namespace mlcb::measure
