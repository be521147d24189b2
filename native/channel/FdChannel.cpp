// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common part of channels over descriptors: try, spin briefly where another core may be answering, then block in poll().
#include "channel/FdChannelBase.h"

#include "channel/Wait.h"

#include <algorithm>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mlcb {
namespace {

using namespace std::chrono_literals;

// Waking an idle core costs 65-105 us, and again for the other end, which fell asleep meanwhile: below that it is better to stay awake.
constexpr auto SpinTime = 200us;

// A long wait among short ones is soon forgotten.
constexpr Clock::duration MaxUsual = 2 * SpinTime;

/// Of the machine: the other end may run where we may not.
bool severalCores() {
  static const bool Several = ::sysconf(_SC_NPROCESSORS_ONLN) > 1;
  return Several;
}

/// Says for how long it is better to try again than to sleep.
class Spin {
public:
  Spin(bool Allowed, Deadline Until) : Until(Allowed && severalCores() ? std::min(Until, Clock::now() + SpinTime) : Deadline::min()) {}

  bool again() {
    if (Clock::now() >= Until)
      return false;
    ::sched_yield(); // the answering process may be waiting for this very core
    return true;
  }

private:
  Deadline Until;
};

/// The pieces that are left after so many bytes, without empty ones.
std::span<ByteSpan> withoutFirst(size_t Bytes, std::span<ByteSpan> Pieces) {
  while (!Pieces.empty() && Bytes >= Pieces.front().size()) {
    Bytes -= Pieces.front().size();
    Pieces = Pieces.subspan(1);
  }
  if (!Pieces.empty())
    Pieces.front() = Pieces.front().subspan(Bytes);
  return Pieces;
}

Unexpected timedOut() { return fail(ErrorKind::Timeout, "the other end did not answer in time"); }

} // namespace

Channel::~Channel() = default;

Expected<size_t> FdChannelBase::receive(std::span<std::byte> Into, Deadline Until) {
  auto Got = tryReceive(Into);
  if (!Got || *Got > 0)
    return Got;
  const auto Start = Clock::now();
  Got = await(Into, Until);
  Usual = (3 * Usual + std::min<Clock::duration>(Clock::now() - Start, MaxUsual)) / 4;
  return Got;
}

/// Of a channel that just had nothing. Spins only where answers came soon of late: others are not worth a core.
Expected<size_t> FdChannelBase::await(std::span<std::byte> Into, Deadline Until) {
  Spin Spinning(Spins && Usual < SpinTime, Until);
  for (;;) {
    if (!Spinning.again()) {
      auto Ready = readable(Until);
      if (!Ready)
        return Unexpected(Ready.error());
      if (!*Ready)
        return timedOut();
    }
    auto Got = tryReceive(Into);
    if (!Got || *Got > 0)
      return Got;
  }
}

Expected<bool> FdChannelBase::readable(Deadline Until) { return waitFor(fileno(), POLLIN, Until, Interrupted); }

Expected<void> FdChannelBase::send(std::span<const ByteSpan> Pieces, Deadline Until, int Attach) {
  SendUntil = Until;
  Unsent.assign(Pieces.begin(), Pieces.end());
  std::span<ByteSpan> Left = withoutFirst(0, Unsent);
  Spin Spinning(Spins, Until);
  while (!Left.empty()) {
    auto Sent = trySend(Left, Attach);
    if (!Sent)
      return Unexpected(Sent.error());
    if (*Sent == 0) {
      if (Spinning.again())
        continue;
      auto Ready = writable(Until);
      if (!Ready)
        return Unexpected(Ready.error());
      if (!*Ready)
        return timedOut();
      continue;
    }
    Spinning = Spin(Spins, Until);
    Attach = -1; // it travelled with the first byte
    Left = withoutFirst(*Sent, Left);
  }
  return {};
}

Unexpected peerGone() { return fail(ErrorKind::PeerGone, "the other end closed its channel or died"); }

Expected<size_t> wouldBlockOr(std::string_view What) {
  switch (errno) {
  case EAGAIN:
  case EINTR: return 0;
  case EPIPE:
  case ECONNRESET: return peerGone();
  default: return failErrno(What);
  }
}

Expected<std::pair<FileDescriptor, FileDescriptor>> socketPair() {
  int Fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, Fds) != 0)
    return failErrno("socketpair");
  return std::pair(FileDescriptor(Fds[0]), FileDescriptor(Fds[1]));
}

} // namespace mlcb
