// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/Framed.h"

#include <algorithm>
#include <cstring>

namespace mlcb {
namespace {

constexpr size_t FirstBuffer = 16 << 10;
constexpr size_t MaxErrorText = 4 << 10;

/// One printable line of what a stranger wrote.
std::string oneLine(std::string_view Text) {
  std::string Line(Text.substr(0, MaxErrorText));
  std::ranges::replace_if(Line, [](unsigned char C) { return C < ' ' || C == 127; }, ' ');
  return Line;
}

bool mayRetry(const Error &Why) { return Why.Kind == ErrorKind::Timeout || Why.Kind == ErrorKind::Interrupted; }

Unexpected closed() { return fail(ErrorKind::PeerGone, "the channel is closed"); }

} // namespace

Unexpected Framed::lost(Error Why) {
  if (!mayRetry(Why))
    close();
  return Unexpected(std::move(Why));
}

/// A peer that closes in mid-sentence has usually said why.
Unexpected Framed::lastWords(Error Why) {
  const Deadline Until = after(FarewellSeconds);
  while (Why.Kind == ErrorKind::PeerGone && Clock::now() < Until) {
    const auto Next = receive(Clock::now());
    if (Next)
      continue;
    if (Next.error().Kind == ErrorKind::PeerError)
      Why = Next.error();
    break;
  }
  close(); // part of a frame may be sent: there is no going on
  return Unexpected(std::move(Why));
}

Expected<void> Framed::send(FrameKind Kind, std::span<const std::byte> Payload, Deadline Until, uint8_t Agent,
                            uint8_t Flags, int Attach) {
  if (!Link)
    return closed();
  if (Payload.size() > FrameHeader::MaxLength)
    return fail(ErrorKind::InvalidArgument, "a payload of " + std::to_string(Payload.size()) + " bytes, at most " +
                                                std::to_string(FrameHeader::MaxLength) + " are allowed");
  const auto Header = encode({Kind, Agent, Flags, NextSent++, static_cast<uint32_t>(Payload.size())});
  auto Sent = Link->send(Header, Payload, Until, Attach);
  return Sent ? Sent : lastWords(std::move(Sent.error()));
}

/// Until the buffer holds Count bytes. It grows with what arrives, not with what a header promises.
Expected<void> Framed::fill(size_t Count, Deadline Until) {
  while (Filled < Count) {
    if (Buffer.size() == Filled)
      Buffer.resize(std::max(FirstBuffer, Buffer.size() * 2));
    auto Got = Link->receive(std::span(Buffer).subspan(Filled), Until);
    if (!Got)
      return lost(std::move(Got.error()));
    Filled += *Got;
  }
  return {};
}

void Framed::discardFrame() {
  if (Consumed == 0)
    return;
  Filled -= Consumed;
  std::memmove(Buffer.data(), Buffer.data() + Consumed, Filled);
  Consumed = 0;
}

Expected<FrameHeader> Framed::receiveHeader(Deadline Until) {
  if (auto Done = fill(FrameHeader::Size, Until); !Done)
    return Unexpected(Done.error());
  auto Header = decodeHeader(buffered().first<FrameHeader::Size>());
  if (!Header)
    return refuse(Header.error());
  if (Header->Sequence != NextReceived)
    return refuse({ErrorKind::ProtocolError, "frame " + std::to_string(Header->Sequence) + " came where frame " +
                                                 std::to_string(NextReceived) + " was due"});
  return Header;
}

Expected<Frame> Framed::receive(Deadline Until) {
  if (!Link)
    return closed();
  discardFrame();
  auto Header = receiveHeader(Until);
  if (!Header)
    return Unexpected(Header.error());
  const size_t Size = FrameHeader::Size + Header->Length;
  if (auto Done = fill(Size, Until); !Done)
    return Unexpected(Done.error());
  Consumed = Size;
  ++NextReceived;
  Frame Result{Header->Kind, Header->Agent, Header->Flags, buffered().subspan(FrameHeader::Size, Header->Length), {}};
  if (Result.Kind == FrameKind::Begin || Result.Kind == FrameKind::Fork)
    Result.Attached = Link->takeAttached();
  if (Result.Kind != FrameKind::Error)
    return Result;
  Error Why{ErrorKind::PeerError, oneLine(Result.text())};
  return Result.Flags & FrameHeader::GoesOn ? Unexpected(std::move(Why)) : lost(std::move(Why));
}

Expected<bool> Framed::readable(Deadline Until) {
  if (!Link)
    return closed();
  return Filled > Consumed ? Expected<bool>(true) : Link->readable(Until);
}

/// Whether they hear it is their affair: a failure here must not lead to lastWords().
void Framed::say(const Error &Why, uint8_t Flags) {
  if (!Link)
    return;
  const std::string Text = oneLine(Why.Message);
  const auto Header = encode({FrameKind::Error, 0, Flags, NextSent++, static_cast<uint32_t>(Text.size())});
  (void)Link->send(Header, bytesOf(Text), after(FarewellSeconds));
}

Unexpected Framed::refuse(Error Why) {
  say(Why, 0);
  close();
  return Unexpected(std::move(Why));
}

Unexpected Framed::decline(Error Why) {
  say(Why, FrameHeader::GoesOn);
  return Unexpected(std::move(Why));
}

} // namespace mlcb
