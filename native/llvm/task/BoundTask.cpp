// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/BoundTask.h"

#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace mlcb {

BoundTask::~BoundTask() = default;

Expected<void> BoundTask::take(size_t, llvm::Module &) { llvm_unreachable("it has no answers"); }

} // namespace mlcb
