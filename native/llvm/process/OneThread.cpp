// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/process/OneThread.h"

#include <atomic>
#include <thread>
#include <unistd.h>

namespace mlcb {

bool isMainThread() { return gettid() == getpid(); }

bool isOneThread() {
  static const std::thread::id First = std::this_thread::get_id();
  static std::atomic<bool> Several = false;
  if (std::this_thread::get_id() != First)
    Several = true;
  return !Several;
}

} // namespace mlcb
