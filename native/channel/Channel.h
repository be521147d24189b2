// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes to and from another process, in order.
#pragma once

#include "channel/Deadline.h"
#include "spec/Error.h"
#include "spec/FileDescriptor.h"

#include <cstddef>
#include <functional>
#include <span>

namespace mlcb {

using ByteSpan = std::span<const std::byte>;

/// Asked now and then during a wait: true ends it with Interrupted.
using InterruptCheck = std::function<bool()>;

/// A stream of bytes each way. The peer's end of file or death is PeerGone, a passed deadline is Timeout; SIGPIPE is never raised.
class Channel {
public:
  virtual ~Channel();

  /// Sends all the pieces, in order, and with them a copy of Attach unless it is -1.
  /// After an error some of the bytes may be gone: the channel is of no more use for sending.
  virtual Expected<void> send(std::span<const ByteSpan> Pieces, Deadline Until, int Attach = -1) = 0;

  Expected<void> send(ByteSpan Bytes, Deadline Until, int Attach = -1) { return send({&Bytes, 1}, Until, Attach); }

  /// Receives at least one byte, and no more than Into holds. Nothing is lost by a Timeout.
  virtual Expected<size_t> receive(std::span<std::byte> Into, Deadline Until) = 0;

  /// Waits until receive() would not; false at the deadline.
  virtual Expected<bool> readable(Deadline Until) = 0;

  /// The earliest descriptor that came with the bytes received so far and was not taken yet; none if there is none.
  virtual FileDescriptor takeAttached() = 0;

  /// The descriptor that becomes readable with the peer's next frame, once readable() was false: for poll(), not for read().
  virtual int fileno() const = 0;

  void onWait(InterruptCheck Check) { Interrupted = std::move(Check); }

protected:
  InterruptCheck Interrupted;
};

} // namespace mlcb
