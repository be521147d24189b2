// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No fork is left behind.
#pragma once

namespace mlcb {

/// Ends this process when its parent ends.
void endWithParent(int Parent);

} // namespace mlcb
