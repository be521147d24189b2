// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a process with its parent, so that no fork is left behind.
#pragma once

namespace mlcb {

/// Ends this process when its parent ends.
void endWithParent(int Parent);

} // namespace mlcb
