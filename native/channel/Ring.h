// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes in order through memory that two processes share: one writes, one reads, and neither believes the other.
#pragma once

#include "spec/Error.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mlcb {

/// One direction, as it lies in the memory; all zero at first. Counts are of bytes since the beginning.
struct Ring {
  static constexpr size_t Capacity = size_t(512) << 10; // a power of two: counts may wrap around

  alignas(64) std::atomic<uint64_t> Written; // the writer's line
  std::atomic<uint32_t> WriterSleeps;
  alignas(64) std::atomic<uint64_t> Read; // the reader's line
  std::atomic<uint32_t> ReaderSleeps;
  alignas(64) std::byte Bytes[Capacity];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

/// An end's own count is its own memory; the other's is read once, and is a ProtocolError where it cannot be.
///
/// Who is about to sleep stores its flag and looks again at the other's count; who has stored a count looks at the other's flag.
/// All four are sequentially consistent, so that one of the two sees the other: no wake-up is lost.
class RingWriter {
public:
  explicit RingWriter(Ring &In) : In(In) {}

  Expected<size_t> room() const;

  /// Copies what room() allows; the reader sees it from publish() on.
  void put(std::span<const std::byte> Bytes);

  /// True where the reader sleeps and is to be woken: the first to ask is told.
  bool publish();

  std::atomic<uint32_t> &sleeps() { return In.WriterSleeps; }

private:
  Ring &In;
  uint64_t Written = 0;
};

class RingReader {
public:
  explicit RingReader(Ring &In) : In(In) {}

  Expected<size_t> available() const;

  /// Copies what available() allows and gives its room back. True where the writer sleeps and is to be woken.
  bool take(std::span<std::byte> Into);

  std::atomic<uint32_t> &sleeps() { return In.ReaderSleeps; }

private:
  Ring &In;
  uint64_t Read = 0;
};

} // namespace mlcb
