// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/Ring.h"

#include <algorithm>

namespace mlcb {
namespace {

/// Bytes between two counts, one of which the other end wrote.
Expected<size_t> distance(uint64_t From, uint64_t To) {
  const uint64_t Between = To - From;
  if (Between > Ring::Capacity)
    return fail(ErrorKind::ProtocolError,
                "the other end spoilt the shared memory: " + std::to_string(Between) + " bytes in a ring of " + std::to_string(Ring::Capacity));
  return Between;
}

/// Calls Copy(part of the ring, where it is in the span) for the one or two parts that Size bytes from Count on are in.
template <class Fn> void eachPart(uint64_t Count, size_t Size, Fn Copy) {
  const size_t Start = Count % Ring::Capacity;
  const size_t First = std::min(Size, Ring::Capacity - Start);
  Copy(Start, size_t(0), First);
  Copy(size_t(0), First, Size - First);
}

bool toBeWoken(std::atomic<uint32_t> &Sleeps) { return Sleeps.load() && Sleeps.exchange(0); }

} // namespace

Expected<size_t> RingWriter::room() const {
  return distance(In.Read.load(), Written).map([](size_t Used) { return Ring::Capacity - Used; });
}

void RingWriter::put(std::span<const std::byte> Bytes) {
  eachPart(Written, Bytes.size(), [&](size_t To, size_t From, size_t Size) { std::copy_n(Bytes.data() + From, Size, In.Bytes + To); });
  Written += Bytes.size();
}

bool RingWriter::publish() {
  In.Written.store(Written);
  return toBeWoken(In.ReaderSleeps);
}

Expected<size_t> RingReader::available() const { return distance(Read, In.Written.load()); }

bool RingReader::take(std::span<std::byte> Into) {
  eachPart(Read, Into.size(), [&](size_t From, size_t To, size_t Size) { std::copy_n(In.Bytes + From, Size, Into.data() + To); });
  Read += Into.size();
  In.Read.store(Read);
  return toBeWoken(In.WriterSleeps);
}

} // namespace mlcb
