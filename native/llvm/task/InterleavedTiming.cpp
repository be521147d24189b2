// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/InterleavedTiming.h"

namespace mlcb {

InterleavedTiming::~InterleavedTiming() = default;

} // namespace mlcb
