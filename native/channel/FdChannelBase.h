// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The waiting of channels over descriptors; how bytes are moved is theirs.
#pragma once

#include "channel/FdChannel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/uio.h>
#include <vector>

namespace mlcb {

class FdChannelBase : public Channel {
public:
  /// A channel that Spins is tried again for a while before a wait sleeps.
  explicit FdChannelBase(bool Spins = true) : Spins(Spins) {}

  using Channel::send;
  Expected<void> send(std::span<const ByteSpan> Pieces, Deadline Until, int Attach) final;
  Expected<size_t> receive(std::span<std::byte> Into, Deadline Until) final;
  Expected<bool> readable(Deadline Until) override;

protected:
  Deadline SendUntil; // of the send() under way, for a trySend() that itself waits

private:
  /// Both move what can be moved at once, and return 0 where that is nothing.
  virtual Expected<size_t> tryReceive(std::span<std::byte> Into) = 0;
  virtual Expected<size_t> trySend(std::span<const ByteSpan> Pieces, int Attach) = 0;

  /// Waits until trySend() would move something; false at the deadline.
  virtual Expected<bool> writable(Deadline Until) = 0;

  Expected<size_t> await(std::span<std::byte> Into, Deadline Until);

  bool Spins;
  Clock::duration Usual{}; // for which receive() waited of late
  std::vector<ByteSpan> Unsent;
};

Unexpected peerGone();

/// 0 where errno says try again, else the error that errno stands for.
Expected<size_t> wouldBlockOr(std::string_view What);

/// Pieces for one system call: as many as it is given, the rest another time.
class Iovecs {
public:
  explicit Iovecs(std::span<const ByteSpan> Pieces) {
    for (const ByteSpan &Piece : Pieces.first(std::min(Pieces.size(), Parts.size())))
      Parts[Count++] = {const_cast<std::byte *>(Piece.data()), Piece.size()};
  }

  iovec *data() { return Parts.data(); }
  size_t size() const { return Count; }

private:
  std::array<iovec, 16> Parts;
  size_t Count = 0;
};

} // namespace mlcb
