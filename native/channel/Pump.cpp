// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/Pump.h"

#include "channel/Thread.h"

#include <poll.h>
#include <vector>

namespace mlcb {
namespace {

constexpr size_t BufferSize = size_t(256) << 10;
constexpr double SendSeconds = 60; // for an end to take what the other said

/// Each descriptor goes with a byte of its own, and no later than the bytes that it came with.
bool pass(std::span<const std::byte> Bytes, Channel &From, Channel &To) {
  while (!Bytes.empty()) {
    const FileDescriptor Attached = From.takeAttached();
    const auto Part = Attached ? Bytes.first(1) : Bytes;
    if (!To.send(Part, after(SendSeconds), Attached.get()))
      return false;
    Bytes = Bytes.subspan(Part.size());
  }
  return true;
}

/// Carries all that is there; false where an end is gone.
bool carry(Channel &From, Channel &To, std::span<std::byte> Buffer) {
  for (;;) {
    const auto Ready = From.readable(Clock::now());
    if (!Ready || !*Ready)
      return Ready.has_value();
    const auto Got = From.receive(Buffer, Clock::now());
    if (!Got && Got.error().Kind == ErrorKind::Timeout)
      return true;
    if (!Got || !pass(Buffer.first(*Got), From, To))
      return false;
  }
}

} // namespace

Expected<void> pump(std::unique_ptr<Channel> A, std::unique_ptr<Channel> B) {
  struct Joined {
    std::unique_ptr<Channel> A, B;
    std::vector<std::byte> Buffer;
  };
  auto Both = std::make_shared<Joined>(Joined{std::move(A), std::move(B), std::vector<std::byte>(BufferSize)});
  auto Carrier = Thread::start([Both = std::move(Both)] {
    auto &[A, B, Buffer] = *Both;
    while (carry(*A, *B, Buffer) && carry(*B, *A, Buffer)) {
      pollfd Ends[] = {{A->fileno(), POLLIN, 0}, {B->fileno(), POLLIN, 0}};
      ::poll(Ends, 2, -1);
    }
  });
  return Carrier.map([](Thread &Running) { Running.detach(); });
}

} // namespace mlcb
