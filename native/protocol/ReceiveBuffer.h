// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The buffer of received bytes, which stay for as long as somebody keeps them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace mlcb {

/// All the memory of a buffer, some of which was received into.
struct ReceivedMemory {
  std::shared_ptr<std::byte[]> Bytes;
  size_t Capacity = 0;
};

/// Bytes received and not discarded yet. Memory that somebody else keeps is never written to again: the buffer goes on in another.
class ReceiveBuffer {
public:
  size_t size() const { return Filled; }
  std::span<const std::byte> bytes() const { return {Current.Bytes.get(), Filled}; }

  /// Where to receive more. It grows with what arrives, not with what a header promises.
  std::span<std::byte> room();
  void add(size_t Count) { Filled += Count; }

  /// Forgets the first bytes, and with them what bytes() gave.
  void discard(size_t Count);

  const ReceivedMemory &memory() const { return Current; }

private:
  void moveTo(ReceivedMemory Next, size_t From);

  ReceivedMemory Current, Spare; // who keeps one message while it asks for the next has them take turns
  size_t Filled = 0;
};

} // namespace mlcb
