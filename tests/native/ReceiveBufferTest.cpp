// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/ReceiveBuffer.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace mlcb {
namespace {

void receive(ReceiveBuffer &Into, std::byte Value, size_t Count) {
  while (Count > 0) {
    const auto Room = Into.room();
    const size_t Size = std::min(Count, Room.size());
    std::fill_n(Room.begin(), Size, Value);
    Into.add(Size);
    Count -= Size;
  }
}

bool holds(std::span<const std::byte> Bytes, std::byte Value) {
  return std::ranges::all_of(Bytes, [&](std::byte One) { return One == Value; });
}

constexpr std::byte A{1}, B{2}, C{3};

TEST(ReceiveBuffer, KeepsWhatWasNotDiscarded) {
  ReceiveBuffer Buffer;
  receive(Buffer, A, 40000);
  receive(Buffer, B, 5000);
  Buffer.discard(40000);
  EXPECT_EQ(Buffer.size(), 5000u);
  EXPECT_TRUE(holds(Buffer.bytes(), B));
}

TEST(ReceiveBuffer, WhatSomebodyKeepsIsNotWrittenTo) {
  ReceiveBuffer Buffer;
  receive(Buffer, A, 10000);
  const ReceivedMemory Kept = Buffer.memory();
  receive(Buffer, B, 100);
  Buffer.discard(10000);
  receive(Buffer, C, 10000);
  EXPECT_TRUE(holds({Kept.Bytes.get(), 10000}, A));
  EXPECT_TRUE(holds(Buffer.bytes().first(100), B));
  EXPECT_TRUE(holds(Buffer.bytes().subspan(100), C));
}

TEST(ReceiveBuffer, TwoMemoriesTakeTurnsWhereTheLastMessageIsKept) {
  ReceiveBuffer Buffer;
  ReceivedMemory Kept;
  std::vector<const std::byte *> Used;
  for (int Time = 0; Time < 6; ++Time) {
    receive(Buffer, A, 1000);
    Kept = Buffer.memory();
    Used.push_back(Kept.Bytes.get());
    Buffer.discard(1000);
  }
  EXPECT_NE(Used[0], Used[1]);
  EXPECT_EQ(std::vector(Used.begin() + 2, Used.end()), std::vector(Used.begin(), Used.end() - 2));
}

} // namespace
} // namespace mlcb
