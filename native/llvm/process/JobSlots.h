// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jobs beside that of this process.
#pragma once

#include "llvm/Support/Jobserver.h"

#include <vector>

namespace mlcb {

/// Slots for jobs of a process that is one job itself. Where make has a jobserver (MAKEFLAGS), they are taken from its; none where it shares none.
class JobSlots {
public:
  /// At most so many jobs at once.
  explicit JobSlots(unsigned AtMost);

  /// Whether there was one more.
  bool take();

  /// Gives back one that was taken; none where none was.
  void giveBack();
  void giveBackAll();

private:
  unsigned AtMost;
  llvm::JobserverClient *Make;
  std::vector<llvm::JobSlot> Taken; // not given back when this ends: a fork has copies
};

} // namespace mlcb
