// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Our protocol: frames in order over a channel, and the end of the conversation when one is wrong.
#pragma once

#include "channel/Channel.h"
#include "protocol/Frame.h"
#include "protocol/ReceiveBuffer.h"

#include <memory>
#include <vector>

namespace mlcb {

/// A frame as received; the payload is valid until the next receive(), or longer for who keeps a copy of Memory.
struct Frame {
  FrameKind Kind;
  uint8_t Agent;
  uint8_t Flags;
  ByteSpan Payload; // at an address divisible by 8
  ReceivedMemory Memory;
  FileDescriptor Attached; // of Begin and Fork, where one came along

  std::string_view text() const { return {reinterpret_cast<const char *>(Payload.data()), Payload.size()}; }
};

/// How long to wait for a peer to take the last words: Bye or Error.
inline constexpr double FarewellSeconds = 1;

inline std::span<const std::byte> bytesOf(std::string_view Text) { return std::as_bytes(std::span(Text)); }

/// One end of a conversation. After any error but Timeout, Interrupted and being declined it is over: every call gives PeerGone.
class Framed {
public:
  explicit Framed(std::unique_ptr<Channel> Link) : Link(std::move(Link)) {}

  Expected<void> send(FrameKind Kind, ByteSpan Payload, Deadline Until, uint8_t Agent = 0, uint8_t Flags = 0, int Attach = -1) {
    return sendPieces(Kind, {&Payload, 1}, Until, Agent, Flags, Attach);
  }
  Expected<void> sendPieces(FrameKind Kind, std::span<const ByteSpan> Payload, Deadline Until, uint8_t Agent = 0, uint8_t Flags = 0, int Attach = -1);

  /// The next frame. An Error frame is a PeerError of its text (a SystemError, where the machine failed), and the end unless the other end declines; a wrong frame is
  /// answered with Error.
  /// After a Timeout it may be called again.
  Expected<Frame> receive(Deadline Until);

  /// Whether receive() would find the beginning of a frame; false at the deadline.
  Expected<bool> readable(Deadline Until);

  /// Says in an Error frame why this is the end, as far as the other end still listens, and closes. Gives the error back.
  Unexpected refuse(Error Why);

  /// Says in an Error frame why what was asked is not done; the conversation goes on. Gives the error back.
  Unexpected decline(Error Why);

  void close() { Link.reset(); }
  bool isOpen() const { return Link != nullptr; }

  /// -1 once closed.
  int fileno() const { return Link ? Link->fileno() : -1; }

  /// The sequence of the next frame sent: for a signal handler, which can only write bytes.
  uint32_t nextSequence() const { return NextSent; }

private:
  void sendError(const Error &Why, uint8_t Flags);
  Expected<void> fill(size_t Count, Deadline Until);
  Expected<FrameHeader> receiveHeader(Deadline Until);
  Unexpected lost(Error Why);
  Unexpected lastWords(Error Why);

  std::unique_ptr<Channel> Link;
  ReceiveBuffer Buffer; // a frame always starts at its front
  size_t Consumed = 0;  // bytes of the frame that the caller still looks at
  std::vector<ByteSpan> Pieces;
  uint32_t NextSent = 0, NextReceived = 0;
};

} // namespace mlcb
