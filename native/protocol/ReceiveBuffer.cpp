// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/ReceiveBuffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mlcb {
namespace {

constexpr size_t FirstCapacity = 16 << 10;

ReceivedMemory allocate(size_t Capacity) { return {std::make_shared_for_overwrite<std::byte[]>(Capacity), Capacity}; }

/// Whether nobody keeps it but us. What they did with it is done: to release a copy is to acquire what they released.
bool isFree(const ReceivedMemory &Memory) {
  const bool Free = Memory.Bytes.use_count() == 1;
  (void)std::shared_ptr(Memory.Bytes);
  return Free;
}

} // namespace

std::span<std::byte> ReceiveBuffer::room() {
  if (Filled == Current.Capacity)
    moveTo(allocate(std::max(FirstCapacity, 2 * Current.Capacity)), 0);
  return {Current.Bytes.get() + Filled, Current.Capacity - Filled};
}

void ReceiveBuffer::discard(size_t Count) {
  if (Count == 0)
    return;
  if (isFree(Current)) {
    Filled -= Count;
    std::memmove(Current.Bytes.get(), Current.Bytes.get() + Count, Filled);
    return;
  }
  auto Kept = Current;
  moveTo(isFree(Spare) && Spare.Capacity >= Current.Capacity ? std::move(Spare) : allocate(Current.Capacity), Count);
  Spare = std::move(Kept);
}

void ReceiveBuffer::moveTo(ReceivedMemory Next, size_t From) {
  Filled -= From;
  if (Filled)
    std::memcpy(Next.Bytes.get(), Current.Bytes.get() + From, Filled);
  Current = std::move(Next);
}

} // namespace mlcb
