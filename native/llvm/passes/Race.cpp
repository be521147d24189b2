// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/Race.h"

namespace mlcb {

Race::~Race() = default;

} // namespace mlcb
