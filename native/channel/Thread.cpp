// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/Thread.h"

#include <cerrno>
#include <memory>

namespace mlcb {

static void *run(void *Argument) {
  const std::unique_ptr<std::function<void()>> Work(static_cast<std::function<void()> *>(Argument));
  (*Work)();
  return nullptr;
}

Expected<Thread> Thread::start(std::function<void()> Work) {
  auto Owned = std::make_unique<std::function<void()>>(std::move(Work));
  pthread_t Running;
  errno = ::pthread_create(&Running, nullptr, run, Owned.get());
  if (errno != 0)
    return failErrno("a thread cannot be made");
  [[maybe_unused]] const auto *Taken = Owned.release(); // by the thread
  return Thread(Running);
}

void Thread::join() {
  if (const auto Ends = std::exchange(Running, {}))
    ::pthread_join(*Ends, nullptr);
}

void Thread::detach() {
  if (const auto Left = std::exchange(Running, {}))
    ::pthread_detach(*Left);
}

} // namespace mlcb
