// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The threads that do what only one thread may do.
#pragma once

namespace mlcb {

/// Whether this is the thread that the process began with.
bool isMainThread();

/// Whether all who have asked are one thread. Once a second one has, the first one is told so too.
bool isOneThread();

} // namespace mlcb
