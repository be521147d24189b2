// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/Framed.h"

#include <algorithm>
#include <utility>

namespace mlcb {
namespace {

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
    if (Next.error().Kind == ErrorKind::PeerError || Next.error().Kind == ErrorKind::SystemError)
      Why = Next.error();
    break;
  }
  close(); // part of a frame may be sent: there is no going on
  return Unexpected(std::move(Why));
}

Expected<void> Framed::sendPieces(FrameKind Kind, std::span<const ByteSpan> Payload, Deadline Until, uint8_t Agent, uint8_t Flags, int Attach) {
  if (!Link)
    return closed();
  size_t Size = 0;
  for (const ByteSpan &Piece : Payload)
    Size += Piece.size();
  if (Size > FrameHeader::MaxLength)
    return fail(ErrorKind::InvalidArgument,
                "a payload of " + std::to_string(Size) + " bytes, at most " + std::to_string(FrameHeader::MaxLength) + " are allowed");
  const auto Header = encode({Kind, Agent, Flags, NextSent++, static_cast<uint32_t>(Size)});
  Pieces.assign(1, Header);
  Pieces.insert(Pieces.end(), Payload.begin(), Payload.end());
  auto Sent = Link->send(Pieces, Until, Attach);
  return Sent ? Sent : lastWords(std::move(Sent.error()));
}

/// Until the buffer holds Count bytes.
Expected<void> Framed::fill(size_t Count, Deadline Until) {
  while (Buffer.size() < Count) {
    auto Got = Link->receive(Buffer.room(), Until);
    if (!Got)
      return lost(std::move(Got.error()));
    Buffer.add(*Got);
  }
  return {};
}

Expected<FrameHeader> Framed::receiveHeader(Deadline Until) {
  if (auto Done = fill(FrameHeader::Size, Until); !Done)
    return Unexpected(Done.error());
  auto Header = decodeHeader(Buffer.bytes().first<FrameHeader::Size>());
  if (!Header)
    return refuse(Header.error());
  if (Header->Sequence != NextReceived)
    return refuse(
        {ErrorKind::ProtocolError, "frame " + std::to_string(Header->Sequence) + " came where frame " + std::to_string(NextReceived) + " was due"});
  return Header;
}

Expected<Frame> Framed::receive(Deadline Until) {
  if (!Link)
    return closed();
  Buffer.discard(std::exchange(Consumed, 0));
  auto Header = receiveHeader(Until);
  if (!Header)
    return Unexpected(Header.error());
  const size_t Size = FrameHeader::Size + Header->Length;
  if (auto Done = fill(Size, Until); !Done)
    return Unexpected(Done.error());
  Consumed = Size;
  ++NextReceived;
  const ByteSpan Payload = Buffer.bytes().subspan(FrameHeader::Size, Header->Length);
  Frame Result{Header->Kind, Header->Agent, Header->Flags, Payload, Buffer.memory(), {}};
  if (Result.Kind == FrameKind::Begin || Result.Kind == FrameKind::Fork)
    Result.Attached = Link->takeAttached();
  if (Result.Kind != FrameKind::Error)
    return Result;
  Error Why{Result.Flags & FrameHeader::OfTheMachine ? ErrorKind::SystemError : ErrorKind::PeerError, oneLine(Result.text())};
  return Result.Flags & FrameHeader::GoesOn ? Unexpected(std::move(Why)) : lost(std::move(Why));
}

Expected<bool> Framed::readable(Deadline Until) {
  if (!Link)
    return closed();
  return Buffer.size() > Consumed ? Expected<bool>(true) : Link->readable(Until);
}

/// Whether they hear it is their affair: a failure here must not lead to lastWords().
void Framed::sendError(const Error &Why, uint8_t Flags) {
  if (!Link)
    return;
  if (Why.Kind == ErrorKind::SystemError)
    Flags |= FrameHeader::OfTheMachine;
  const std::string Text = oneLine(Why.Message);
  const auto Header = encode({FrameKind::Error, 0, Flags, NextSent++, static_cast<uint32_t>(Text.size())});
  const ByteSpan Both[] = {Header, bytesOf(Text)};
  (void)Link->send(Both, after(FarewellSeconds));
}

Unexpected Framed::refuse(Error Why) {
  sendError(Why, 0);
  close();
  return Unexpected(std::move(Why));
}

Unexpected Framed::decline(Error Why) {
  sendError(Why, FrameHeader::GoesOn);
  return Unexpected(std::move(Why));
}

} // namespace mlcb
