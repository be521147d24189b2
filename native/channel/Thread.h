// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread of which it is an error, not the end of the process, that it cannot be made.
#pragma once

#include "spec/Error.h"

#include <functional>
#include <optional>
#include <pthread.h>

namespace mlcb {

class Thread {
public:
  static Expected<Thread> start(std::function<void()> Work);

  Thread(Thread &&Other) noexcept : Running(std::exchange(Other.Running, {})) {}
  Thread &operator=(Thread &&) = delete;
  ~Thread() { join(); }

  /// Waits for its end; harmless if done already.
  void join();

  /// Leaves it to itself.
  void detach();

private:
  explicit Thread(pthread_t Running) : Running(Running) {}

  std::optional<pthread_t> Running;
};

} // namespace mlcb
