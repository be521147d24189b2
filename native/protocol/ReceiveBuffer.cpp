// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/ReceiveBuffer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace mlcb {
namespace {

constexpr size_t FirstCapacity = 16 << 10;

ReceivedMemory allocate(size_t Capacity) { return {std::make_shared_for_overwrite<std::byte[]>(Capacity), Capacity}; }

/// Whether nobody keeps it but us. What they did with it before is done: the fence pairs with their giving it up.
bool isFree(const ReceivedMemory &Memory) {
  const bool Free = Memory.Bytes.use_count() == 1;
  std::atomic_thread_fence(std::memory_order_acquire);
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
