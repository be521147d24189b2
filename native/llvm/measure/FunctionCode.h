// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes that one function adds to an object file.
#pragma once

#include "llvm/Support/Alignment.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace mlcb::measure {

enum class TextSection : uint8_t { Plain, Hot, Unlikely, Other };

/// Bytes that lie together in a section, from an aligned start.
struct Piece {
  uint32_t Bytes = 0;
  uint8_t LogAlign = 0;
};

/// A jump to another function: it is short where that function lies near.
struct FarJump {
  uint16_t Target;   // index into the references of the function's print
  uint8_t MinBefore; // least bytes from the start of the function to the end of the jump; 255 is that or more
  uint8_t MinAfter;  // least bytes from the end of the jump to the end of the function
};

/// As laid out with all jumps to other functions long. Kept in the cache: trivially copyable.
struct FunctionCode {
  static constexpr size_t MaxFarJumps = 8;

  Piece Text;
  Piece JumpTables;
  std::array<Piece, 4> Pools; // mergeable constants of 4, 8, 16 and 32 bytes
  Piece OtherPool;            // constants of other sizes
  uint32_t FrameBytes = 0;    // of its frame description; 0 where it has none
  uint8_t CieBytes = 0;       // of the common part that the frame description needs
  TextSection Section = TextSection::Plain;
  uint8_t MinText = 0; // least bytes of text; 255 is that or more
  uint8_t NumFarJumps = 0;
  bool Composable = false; // whether this is all that it adds
  std::array<FarJump, MaxFarJumps> FarJumps;

  /// All that it adds, with the padding behind its text, but for the common part of frame descriptions.
  uint64_t bytes() const {
    uint64_t Sum = llvm::alignTo(Text.Bytes, llvm::Align(uint64_t(1) << Text.LogAlign)) + JumpTables.Bytes + OtherPool.Bytes + FrameBytes;
    for (const Piece &Pool : Pools)
      Sum += Pool.Bytes;
    return Sum;
  }
};

} // namespace mlcb::measure
