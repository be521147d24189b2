// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pipe or FIFO each way.
#include "channel/FdChannelBase.h"

#include "channel/Wait.h"

#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <poll.h>

namespace mlcb {
namespace {

/// Keeps a write to a pipe without a reader from raising SIGPIPE, without touching the process's handlers.
class NoSigpipe {
public:
  NoSigpipe() {
    sigemptyset(&Pipe);
    sigaddset(&Pipe, SIGPIPE);
    sigset_t Pending;
    sigpending(&Pending);
    WasPending = sigismember(&Pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &Pipe, &Before);
  }

  ~NoSigpipe() {
    const int Saved = errno;
    const timespec AtOnce{};
    if (!WasPending)
      sigtimedwait(&Pipe, nullptr, &AtOnce);
    pthread_sigmask(SIG_SETMASK, &Before, nullptr);
    errno = Saved;
  }

  NoSigpipe(const NoSigpipe &) = delete;
  NoSigpipe &operator=(const NoSigpipe &) = delete;

private:
  sigset_t Pipe, Before;
  bool WasPending;
};

class PipeChannel final : public FdChannelBase {
public:
  PipeChannel(FileDescriptor In, FileDescriptor Out) : In(std::move(In)), Out(std::move(Out)) {}

  int fileno() const override { return In.get(); }
  FileDescriptor takeAttached() override { return {}; }

  /// A peer that closed its reading half will not answer either, while its writing half may stay open for ever.
  Expected<bool> readable(Deadline Until) override {
    pollfd Watched[] = {{In.get(), POLLIN, 0}, {Out.get(), 0, 0}};
    auto Ready = waitFor(Watched, Until, Interrupted);
    Deaf = Deaf || (Watched[1].revents & POLLERR);
    return Ready;
  }

private:
  Expected<bool> writable(Deadline Until) override { return waitFor(Out.get(), POLLOUT, Until, Interrupted); }

  Expected<size_t> tryReceive(std::span<std::byte> Into) override {
    ssize_t Got = ::read(In.get(), Into.data(), Into.size());
    // A FIFO that no writer has opened yet reads as empty too, but has not hung up. While one is being opened, Linux may say for a moment that it
    // has: a second read waits for that.
    const bool HungUp = Got == 0 && hungUp(In.get());
    if (HungUp)
      Got = ::read(In.get(), Into.data(), Into.size());
    if (Got > 0)
      return static_cast<size_t>(Got);
    if (Deaf || (HungUp && Got == 0))
      return peerGone();
    return Got < 0 ? wouldBlockOr("read") : 0;
  }

  Expected<size_t> trySend(std::span<const ByteSpan> Pieces, int Attach) override {
    if (Attach >= 0)
      return fail(ErrorKind::InvalidArgument, "a pipe carries no descriptors: use a socket");
    Iovecs Parts(Pieces);
    const NoSigpipe Guard;
    const ssize_t Sent = ::writev(Out.get(), Parts.data(), static_cast<int>(Parts.size()));
    return Sent < 0 ? wouldBlockOr("write") : static_cast<size_t>(Sent);
  }

  FileDescriptor In, Out;
  bool Deaf = false; // no more comes than the pipe holds
};

void setNonBlocking(int Fd) { ::fcntl(Fd, F_SETFL, ::fcntl(Fd, F_GETFL) | O_NONBLOCK); }

} // namespace

std::unique_ptr<Channel> pipeChannel(FileDescriptor In, FileDescriptor Out) {
  setNonBlocking(In.get());
  setNonBlocking(Out.get());
  return std::make_unique<PipeChannel>(std::move(In), std::move(Out));
}

} // namespace mlcb
