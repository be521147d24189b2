// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/BoundTask.h"

using namespace llvm;

namespace mlcb {

BoundTask::~BoundTask() = default;

} // namespace mlcb
