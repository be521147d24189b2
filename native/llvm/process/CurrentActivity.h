// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What this process is doing, in words: for the report of a crash, so readable from a signal handler.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace mlcb {

/// Names what is being done until its end ("action 'sroa,early-cse'"). The innermost one counts.
class CurrentActivity {
public:
  explicit CurrentActivity(llvm::StringRef What);
  ~CurrentActivity();
  CurrentActivity(const CurrentActivity &) = delete;
  CurrentActivity &operator=(const CurrentActivity &) = delete;

  /// The current one; empty where there is none. Safe in a signal handler of the thread that works.
  static llvm::StringRef current();

private:
  llvm::StringRef Outer;
};

} // namespace mlcb
