// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes in LLVM's format, given to a decoder piece by piece.
#pragma once

#include "protocol/MlgoLog.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace mlcb::test {

/// Gives Take every record in pieces of Step bytes, and says whether they end with one.
template <class Taker> Expected<void> takePieces(MlgoDecoder &Decoder, std::span<const std::byte> In, size_t Step, Taker Take) {
  while (true) {
    auto Next = Decoder.next();
    if (!Next)
      return Unexpected(Next.error());
    if (*Next) {
      Take(std::move(**Next));
      continue;
    }
    if (In.empty())
      return Decoder.end();
    const auto Room = Decoder.room();
    const size_t Count = std::min({Step, In.size(), Room.size()});
    std::memcpy(Room.data(), In.data(), Count);
    Decoder.received(Count);
    In = In.subspan(Count);
  }
}

} // namespace mlcb::test
