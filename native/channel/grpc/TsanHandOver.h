// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An operation that one thread begins and gRPC completes on another. It does so under locks of its own, which ThreadSanitizer does not see where
// gRPC itself was built without it.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace mlcb {

/// Before gRPC gets it.
inline void handOver([[maybe_unused]] void *What) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(What);
#endif
}

/// After gRPC gave it back.
inline void takeOver([[maybe_unused]] void *What) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(What);
#endif
}

} // namespace mlcb
