// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/Frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "the wire is little endian; this code copies raw memory");

namespace mlcb {
namespace {

constexpr char Magic[4] = {'M', 'L', 'C', 'B'};

constexpr std::array<std::string_view, 9> Names{"hello", "begin", "observation", "advice", "episode_end", "fork", "error", "bye", "model"};

/// The header as it lies on the wire.
struct Wire {
  char Magic[4];
  uint8_t Version, Kind, Agent, Flags;
  uint32_t Sequence, Length;
};
static_assert(sizeof(Wire) == FrameHeader::Size);

Unexpected foreign(const std::string &What) { return fail(ErrorKind::ProtocolError, What); }

} // namespace

std::string_view name(FrameKind Kind) { return Names[static_cast<size_t>(Kind) - 1]; }

std::optional<FrameKind> frameKind(std::string_view Name) {
  auto Found = std::ranges::find(Names, Name);
  if (Found == Names.end())
    return {};
  return static_cast<FrameKind>(Found - Names.begin() + 1);
}

FrameHeaderBytes encode(const FrameHeader &Header) {
  Wire Raw{{}, FrameHeader::Version, static_cast<uint8_t>(Header.Kind), Header.Agent, Header.Flags, Header.Sequence, Header.Length};
  std::memcpy(Raw.Magic, Magic, sizeof Magic);
  return std::bit_cast<FrameHeaderBytes>(Raw);
}

Expected<FrameHeader> decodeHeader(std::span<const std::byte, FrameHeader::Size> Bytes) {
  Wire Raw;
  std::memcpy(&Raw, Bytes.data(), sizeof Raw);
  if (std::memcmp(Raw.Magic, Magic, sizeof Magic) != 0)
    return foreign("the other end does not speak this protocol: a frame does not start with MLCB");
  if (Raw.Version != FrameHeader::Version)
    return foreign("a frame of version " + std::to_string(Raw.Version) + ", this build speaks " + std::to_string(FrameHeader::Version));
  if (Raw.Kind < 1 || Raw.Kind > Names.size())
    return foreign("a frame of unknown kind " + std::to_string(Raw.Kind));
  if (Raw.Length > FrameHeader::MaxLength)
    return foreign("a frame of " + std::to_string(Raw.Length) + " bytes, at most " + std::to_string(FrameHeader::MaxLength) + " are allowed");
  return FrameHeader{static_cast<FrameKind>(Raw.Kind), Raw.Agent, Raw.Flags, Raw.Sequence, Raw.Length};
}

} // namespace mlcb
