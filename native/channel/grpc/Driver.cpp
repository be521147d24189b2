// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/grpc/Driver.h"

#include "channel/Wait.h"
#include "channel/grpc/TsanHandOver.h"

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>

namespace mlcb {
namespace {

using namespace std::chrono_literals;

constexpr auto Slice = 100ms; // after which a wait looks whether it is interrupted, or somebody else works now
constexpr auto AssistPeriod = 50ms;

std::chrono::system_clock::time_point wallClock(Deadline Until) {
  return std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(Until - Clock::now());
}

} // namespace

bool Bell::make() {
  if (!Fd)
    Fd.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return static_cast<bool>(Fd);
}

void Bell::ring() {
  if (std::exchange(Sleeps, false))
    (void)::eventfd_write(Fd.get(), 1);
}

void Bell::silence() {
  eventfd_t Rung;
  (void)::eventfd_read(Fd.get(), &Rung);
}

Expected<void> Driver::start() {
  return Thread::start([this] { assist(); }).map([&](Thread New) { Assistant.emplace(std::move(New)); });
}

Driver::~Driver() {
  {
    const std::scoped_lock Held(Lock);
    Closing = true;
  }
  Changed.notify_all();
  Queue->Shutdown();
  Assistant.reset();
  while (!Ended) // where there was no assistant
    next(Clock::now() + 1h);
}

void Driver::delegate() {
  if (Delegated)
    return;
  {
    const std::scoped_lock Held(Lock);
    Delegated = true;
  }
  Changed.notify_all();
}

void Driver::addChannel() {
  if (++Channels > 1)
    delegate();
}

void Driver::removeStream() {
  const std::scoped_lock Held(Lock);
  --Streams;
  Changed.notify_all();
}

void Driver::waitForStreams() {
  delegate();
  std::unique_lock Held(Lock);
  Changed.wait(Held, [this] { return Streams == 0; });
}

bool Driver::next(Deadline Until) {
  void *Tag;
  bool Ok;
  const auto Status = Queue->AsyncNext(&Tag, &Ok, wallClock(Until));
  if (Status == grpc::CompletionQueue::GOT_EVENT) {
    takeOver(Tag);
    static_cast<Operation *>(Tag)->done(Ok);
  }
  Ended = Status == grpc::CompletionQueue::SHUTDOWN;
  return Status == grpc::CompletionQueue::GOT_EVENT;
}

void Driver::assist() {
  for (std::unique_lock Held(Lock); !Closing && !Delegated; Changed.wait_for(Held, AssistPeriod))
    if (const std::unique_lock Nobody(Working, std::try_to_lock); Nobody) {
      Held.unlock();
      next(Clock::now());
      Held.lock();
    }
  while (!Ended)
    next(Clock::now() + 1h);
}

Deadline Driver::sliceOf(Deadline Until) { return std::min<Deadline>(Until, Clock::now() + Slice); }

Expected<bool> Driver::passed(Deadline Until, const InterruptCheck &Interrupted) {
  if (Interrupted && Interrupted())
    return fail(ErrorKind::Interrupted, "the wait was interrupted");
  return Clock::now() >= Until;
}

Expected<bool> Driver::sleep(Bell &Ring, Deadline Until, const InterruptCheck &Interrupted) {
  return waitFor(Ring.fileno(), POLLIN, Until, Interrupted).map([](bool Rung) { return !Rung; });
}

} // namespace mlcb
