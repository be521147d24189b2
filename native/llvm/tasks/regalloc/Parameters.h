// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parameters of eviction.def and priority.def as C++ values.
#pragma once

#include "spec/TaskSpec.h"
#include "llvm/tasks/regalloc/FixedAllocators.h"

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace mlcb {

struct RegallocParameters {
  std::string Pipeline; // empty for none
  bool KeepsOptSize;
  llvm::SmallVector<const FixedAllocator *> Beside; // tried beside the policy

  /// Reads the parameters of a bound spec of either task; a value that means nothing is an error. Whether LLVM takes the pipeline is not
  /// looked at.
  static Expected<RegallocParameters> read(const BoundSpec &Spec);
};

} // namespace mlcb
