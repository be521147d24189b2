// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gRPC's work for a connection, done by the thread that waits for it, so that no other need be woken.
#pragma once

#include "channel/Channel.h"
#include "channel/Thread.h"

#include <atomic>
#include <condition_variable>
#include <grpcpp/completion_queue.h>
#include <memory>
#include <mutex>
#include <optional>

namespace mlcb {

/// An operation that gRPC was asked for, and the member function that is called when it is done.
class Operation {
public:
  virtual void done(bool Ok) = 0;

protected:
  ~Operation() = default;
};

/// A descriptor that becomes readable when somebody sleeps and there is something to do. Its users lock.
class Bell {
public:
  Bell() { (void)make(); }
  bool make(); // where descriptors were short; false where they still are
  int fileno() const { return Fd.get(); }
  void ring();
  void silence();
  bool Sleeps = false;

private:
  FileDescriptor Fd;
};

/// Where there are several channels, or somebody sleeps elsewhere, a thread of its own works for all of them. Until then that thread
/// only looks now and then, while nobody waits, whether the other end pings or hangs up.
class Driver {
public:
  explicit Driver(std::unique_ptr<grpc::CompletionQueue> Queue) : Queue(std::move(Queue)) {}

  /// Makes the thread, before anything is asked of gRPC.
  Expected<void> start();

  /// Nothing may be asked of gRPC any more.
  ~Driver();

  grpc::CompletionQueue &queue() { return *Queue; }

  void delegate();
  bool isDelegated() const { return Delegated; }

  /// Channels, of which one alone may have its thread work.
  void addChannel();
  void removeChannel() { --Channels; }

  /// Streams that gRPC still holds on to, and the end of the last.
  void addStream() { ++Streams; }
  void removeStream();
  void waitForStreams(); // all of which are cancelled or over: gRPC ends them by itself

  /// Works until IsReady, which locks for itself, or the deadline.
  template <class Fn> void work(Fn IsReady, Deadline Until) {
    const std::scoped_lock Held(Working);
    while (!IsReady() && next(Until))
      ;
  }

  /// Waits until IsReady, with Lock held; false at the deadline. In the other threads Ring says when to look.
  template <class Fn> Expected<bool> wait(std::mutex &Lock, Bell &Ring, Fn IsReady, Deadline Until, const InterruptCheck &Interrupted) {
    for (;;) {
      const bool Sleeps = Delegated; // read once: another thread may delegate at any moment
      {
        const std::scoped_lock Held(Lock);
        if (Sleeps)
          Ring.silence();
        if (IsReady())
          return true;
        Ring.Sleeps = Sleeps;
      }
      auto Passed = Sleeps ? sleep(Ring, Until, Interrupted) : workAWhile(Lock, IsReady, Until, Interrupted);
      if (!Passed)
        return Passed;
      if (*Passed)
        return (std::scoped_lock(Lock), IsReady());
    }
  }

private:
  template <class Fn> Expected<bool> workAWhile(std::mutex &Lock, Fn IsReady, Deadline Until, const InterruptCheck &Interrupted) {
    work([&] { return (std::scoped_lock(Lock), IsReady()); }, sliceOf(Until));
    return passed(Until, Interrupted);
  }

  bool next(Deadline Until); // false where nothing happened
  void assist();
  static Deadline sliceOf(Deadline Until);
  static Expected<bool> sleep(Bell &Ring, Deadline Until, const InterruptCheck &Interrupted);
  static Expected<bool> passed(Deadline Until, const InterruptCheck &Interrupted);

  std::unique_ptr<grpc::CompletionQueue> Queue;
  std::mutex Working, Lock;
  std::condition_variable Changed;
  std::atomic<bool> Delegated = false;
  std::atomic<size_t> Channels = 0, Streams = 0;
  bool Closing = false;
  std::atomic<bool> Ended = false; // nothing is left in the queue, which is shut down
  std::optional<Thread> Assistant; // last: it uses the rest
};

} // namespace mlcb
