// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/ProcessFifos.h"

#include "channel/FdChannelBase.h"
#include "channel/Fifo.h"
#include "channel/Wait.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

namespace mlcb {
namespace {

struct Descriptors {
  FileDescriptor In, Out;
  FileDescriptor Process; // readable when it has ended
  FileDescriptor Either;  // readable when In or Process is
};

class ProcessFifos final : public FdChannelBase {
public:
  explicit ProcessFifos(Descriptors Fds) : Fds(std::move(Fds)) {}

  int fileno() const override { return Fds.Either.get(); }
  FileDescriptor takeAttached() override { return {}; }

private:
  Expected<bool> writable(Deadline Until) override { return waitFor(Fds.Out.get(), POLLOUT, Until, Interrupted); }

  Expected<size_t> tryReceive(std::span<std::byte> Into) override {
    const bool Ended = hasEnded(); // asked first: what the process said before is read before
    const ssize_t Got = ::read(Fds.In.get(), Into.data(), Into.size());
    if (Got >= 0)
      return static_cast<size_t>(Got);
    return Ended && errno == EAGAIN ? peerGone() : wouldBlockOr("read");
  }

  Expected<size_t> trySend(std::span<const ByteSpan> Pieces, int Attach) override {
    if (Attach >= 0)
      return fail(ErrorKind::InvalidArgument, "a FIFO carries no descriptors: use a socket");
    Iovecs Parts(Pieces);
    const ssize_t Sent = ::writev(Fds.Out.get(), Parts.data(), static_cast<int>(Parts.size())); // no SIGPIPE: we are a reader, too
    return Sent < 0 ? wouldBlockOr("write") : static_cast<size_t>(Sent);
  }

  bool hasEnded() const {
    pollfd Watched{Fds.Process.get(), POLLIN, 0};
    return ::poll(&Watched, 1, 0) > 0;
  }

  Descriptors Fds;
};

Expected<void> watch(int Either, int Fd) {
  epoll_event Event{};
  Event.events = EPOLLIN;
  return ::epoll_ctl(Either, EPOLL_CTL_ADD, Fd, &Event) == 0 ? Expected<void>() : failErrno("epoll_ctl");
}

} // namespace

Expected<std::unique_ptr<Channel>> processFifos(const std::string &Base, pid_t Process) {
  auto In = openFifo(Base + ".out", O_RDWR);
  auto Out = openFifo(Base + ".in", O_RDWR);
  if (!In || !Out)
    return Unexpected((In ? Out : In).error());
  Descriptors Fds{std::move(*In), std::move(*Out), FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, Process, 0))),
                  FileDescriptor(::epoll_create1(EPOLL_CLOEXEC))};
  if (!Fds.Process || !Fds.Either)
    return failErrno("process " + std::to_string(Process));
  for (const auto *Fd : {&Fds.In, &Fds.Process})
    if (auto Done = watch(Fds.Either.get(), Fd->get()); !Done)
      return Unexpected(Done.error());
  return std::make_unique<ProcessFifos>(std::move(Fds));
}

} // namespace mlcb
