// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The waiting of channels over descriptors; how bytes are moved is theirs.
#pragma once

#include "channel/FdChannel.h"

#include <cerrno>
#include <sys/uio.h>

namespace mlcb {

class FdChannelBase : public Channel {
public:
  /// A channel that Spins is tried again for a while before a wait sleeps.
  explicit FdChannelBase(bool Spins = true) : Spins(Spins) {}

  Expected<void> send(std::span<const std::byte> Head, std::span<const std::byte> Body, Deadline Until,
                      int Attach) final;
  Expected<size_t> receive(std::span<std::byte> Into, Deadline Until) final;
  Expected<bool> readable(Deadline Until) override;

private:
  /// Both move what can be moved at once, and return 0 where that is nothing.
  virtual Expected<size_t> tryReceive(std::span<std::byte> Into) = 0;
  virtual Expected<size_t> trySend(std::span<const std::byte> Head, std::span<const std::byte> Body, int Attach) = 0;

  /// Waits until trySend() would move something; false at the deadline.
  virtual Expected<bool> writable(Deadline Until) = 0;

  bool Spins;
};

Unexpected peerGone();

/// 0 where errno says try again, else the error that errno stands for.
Expected<size_t> wouldBlockOr(std::string_view What);

inline iovec toIovec(std::span<const std::byte> Bytes) {
  return {const_cast<std::byte *>(Bytes.data()), Bytes.size()};
}

} // namespace mlcb
