// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The header of a frame; docs/protocol.md has the contract.
#pragma once

#include "spec/Error.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace mlcb {

enum class FrameKind : uint8_t { Hello = 1, Begin, Observation, Advice, EpisodeEnd, Fork, Error, Bye, Model };

/// "hello", "begin", "observation", ...
std::string_view name(FrameKind Kind);
std::optional<FrameKind> frameKind(std::string_view Name);

struct FrameHeader {
  FrameKind Kind;
  uint8_t Agent = 0;
  uint8_t Flags = 0;
  uint32_t Sequence = 0;
  uint32_t Length = 0;

  static constexpr size_t Size = 16;
  static constexpr uint8_t Version = 1;
  static constexpr uint8_t GoesOn = 1;       // flag of an Error that does not end the conversation
  static constexpr uint8_t OfTheMachine = 2; // flag of an Error that is nobody's fault: a SystemError at the other end, too
  static constexpr size_t MaxLength = size_t(64) << 20;
};

using FrameHeaderBytes = std::array<std::byte, FrameHeader::Size>;

FrameHeaderBytes encode(const FrameHeader &Header);

/// A header of another protocol, version or kind, or a length beyond the limit, is a ProtocolError.
Expected<FrameHeader> decodeHeader(std::span<const std::byte, FrameHeader::Size> Bytes);

} // namespace mlcb
