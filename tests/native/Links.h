// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Channels whose both ends are here.
#pragma once

#include "Support.h"
#include "channel/GrpcRendezvous.h"
#include "channel/ShmChannel.h"

#include <fcntl.h>
#include <future>
#include <poll.h>

namespace mlcb::test {

/// Both ends of a channel.
struct Link {
  std::unique_ptr<Channel> Ours, Theirs;
};

inline Link sockets() {
  Ends Pair;
  return {Pair.ours(), Pair.theirs()};
}

inline Link pipes() {
  int Up[2], Down[2];
  EXPECT_EQ(::pipe2(Up, O_CLOEXEC) | ::pipe2(Down, O_CLOEXEC), 0);
  return {pipeChannel(FileDescriptor(Down[0]), FileDescriptor(Up[1])), pipeChannel(FileDescriptor(Up[0]), FileDescriptor(Down[1]))};
}

/// Both ends in one mapping, where ThreadSanitizer sees them meet.
inline Link shm() {
  Ends Pair;
  auto Memory = mapRings(makeRings().value()).value();
  Rings &Both = *Memory;
  return {shmChannel(Memory, Both.ToLearner, Both.ToCompiler, Pair.ours()), shmChannel(Memory, Both.ToCompiler, Both.ToLearner, Pair.theirs())};
}

/// Ours calls, theirs is called.
inline Link grpc() {
  auto Server = openGrpc(Uri::parse("grpc://127.0.0.1:0"), true).value();
  auto Client = openGrpc(Uri::parse("grpc://" + Server->address()), false).value();
  auto Called = std::async(std::launch::async, [&] { return Server->connect(patience(), {}).value(); });
  auto Ours = Client->connect(patience(), {}).value();
  return {std::move(Ours), Called.get()};
}

inline bool pollReadable(const Channel &Which, int Milliseconds) {
  pollfd Watched{Which.fileno(), POLLIN, 0};
  return ::poll(&Watched, 1, Milliseconds) > 0;
}

/// Sizes from 1 byte to 10 000, in no order.
inline size_t sizeOfRound(size_t Round) { return 1 + Round * 7919 % 10000; }

inline Expected<std::string> receiveText(Channel &From, size_t Size) {
  std::string Text(Size, '\0');
  for (size_t Filled = 0; Filled < Size;) {
    auto Got = From.receive(std::as_writable_bytes(std::span(Text)).subspan(Filled), patience());
    if (!Got)
      return Unexpected(Got.error());
    Filled += *Got;
  }
  return Text;
}

/// More than any channel buffers, again and again: an error, for nobody takes it.
inline Expected<void> sendTooMuch(Channel &To, Deadline Until) {
  const std::string Text(3 << 20, 'x');
  for (int Time = 0; Time < 10; ++Time)
    if (auto Sent = To.send(std::as_bytes(std::span(Text)), Until); !Sent)
      return Sent;
  return {};
}

inline Expected<void> sendText(Channel &To, std::string_view Text) { return To.send(std::as_bytes(std::span(Text)), patience()); }

} // namespace mlcb::test
