// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/grpc/Stream.h"

#include "channel/FdChannelBase.h"

#include <algorithm>
#include <cstring>

namespace mlcb {
namespace {

constexpr size_t MaxMessage = size_t(1) << 20; // of ours: while one is sent the next is copied
constexpr size_t ReadAhead = size_t(1) << 20;  // so that last words arrive although nobody listens yet
constexpr size_t MaxNames = 16;                // not yet taken; more is a flood
constexpr size_t MaxName = 64;                 // bytes of one

std::vector<grpc::Slice> copyOf(std::span<const ByteSpan> Pieces) {
  std::vector<grpc::Slice> Slices;
  size_t Left = MaxMessage;
  for (ByteSpan Piece : Pieces) {
    Piece = Piece.first(std::min(Piece.size(), Left));
    if (!Piece.empty())
      Slices.emplace_back(Piece.data(), Piece.size());
    Left -= Piece.size();
  }
  return Slices;
}

} // namespace

Expected<size_t> Stream::take(std::span<std::byte> Into) {
  std::unique_lock Held(Lock);
  if (Came.empty())
    return Over ? Expected<size_t>(peerGone()) : 0;
  const size_t Size = copyOut(Into);
  proceed(std::move(Held));
  return Size;
}

size_t Stream::copyOut(std::span<std::byte> Into) {
  size_t Copied = 0;
  while (Copied < Into.size() && !Came.empty()) {
    Message &First = Came.front();
    const grpc::Slice &Part = First.Slices[First.Next];
    const size_t Size = std::min(Part.size() - First.Offset, Into.size() - Copied);
    std::memcpy(Into.data() + Copied, Part.begin() + First.Offset, Size);
    Copied += Size;
    First.Offset += Size;
    if (First.Offset < Part.size())
      break;
    First.Offset = 0;
    if (++First.Next == First.Slices.size())
      Came.pop_front();
  }
  Waiting -= Copied;
  return Copied;
}

Expected<size_t> Stream::put(std::span<const ByteSpan> Pieces, const std::string &Name) {
  {
    const std::scoped_lock Held(Lock);
    if (Over || Broken)
      return peerGone();
    if (!Outgoing.empty())
      return 0;
  }
  const std::vector<grpc::Slice> Parts = copyOf(Pieces);
  std::unique_lock Held(Lock);
  if (Over || Broken)
    return peerGone();
  if (!Name.empty()) {
    const grpc::Slice Written(Name);
    Outgoing.emplace_back(&Written, 0); // a buffer without slices is none to gRPC: an empty one is not
    Outgoing.emplace_back(&Written, 1);
  }
  const size_t Size = Outgoing.emplace_back(Parts.data(), Parts.size()).Length();
  Held.unlock();
  startWrite(&Outgoing.front());
  readOn();
  return Size;
}

std::optional<std::string> Stream::takeName() {
  const std::scoped_lock Held(Lock);
  if (Names.empty())
    return {};
  std::string First = std::move(Names.front());
  Names.pop_front();
  return First;
}

int Stream::fileno() {
  Works.delegate();
  readOn();
  const std::scoped_lock Held(Lock);
  In.Sleeps = true;
  if (!Came.empty() || Over)
    In.ring();
  return In.fileno();
}

Expected<bool> Stream::waitToTake(Deadline Until, const InterruptCheck &Interrupted) {
  Awaited = true;
  readOn();
  auto Ready = Works.wait(Lock, In, [this] { return !Came.empty() || Over; }, Until, Interrupted);
  Awaited = false;
  return Ready;
}

Expected<bool> Stream::waitToPut(Deadline Until, const InterruptCheck &Interrupted) {
  return Works.wait(Lock, Out, [this] { return Outgoing.empty() || Over || Broken; }, Until, Interrupted);
}

Expected<bool> Stream::waitForAnswer(Deadline Until, const InterruptCheck &Interrupted) {
  return Works.wait(Lock, In, [this] { return Answered || Done; }, Until, Interrupted);
}

void Stream::hangUp(Deadline Until) {
  std::unique_lock Held(Lock);
  Leaving = true;
  Answering = false;
  Came.clear();
  Waiting = 0;
  proceed(std::move(Held));
  if (!Works.wait(Lock, In, [this] { return Done; }, Until, {}).value_or(false))
    cancel();
}

bool Stream::isOver() {
  const std::scoped_lock Held(Lock);
  return Over;
}

std::optional<grpc::Status> Stream::status() {
  const std::scoped_lock Held(Lock);
  return Done ? std::optional(How) : std::nullopt;
}

void Stream::begin(std::shared_ptr<Stream> This) {
  Works.addStream();
  Self = std::move(This);
}

void Stream::drop() {
  const auto Last = std::move(Self);
  Works.removeStream();
}

/// Begins what is due, without the lock: gRPC may work at once.
void Stream::proceed(std::unique_lock<std::mutex> Held) {
  const bool ReadOn = mayRead(), End = mayFinish();
  Held.unlock();
  if (ReadOn)
    startRead(&Incoming);
  if (End)
    finish();
}

bool Stream::mayRead() {
  const bool May = !Reading && !Answering && !Over && Waiting < ReadAhead && (!Leaving || readsToTheEnd());
  Reading = Reading || May;
  return May;
}

void Stream::readOn() {
  std::unique_lock Held(Lock);
  Answering = false;
  proceed(std::move(Held));
}

bool Stream::mayFinish() {
  const bool May = (Over || Leaving) && Outgoing.empty() && !Taking && !Finished;
  Finished = Finished || May;
  return May;
}

bool Stream::mayTake() {
  const std::scoped_lock Held(Lock);
  Taking = !Over && !Finished;
  return Taking;
}

void Stream::markFinished() {
  const std::scoped_lock Held(Lock);
  Finished = Over = Broken = true;
}

bool Stream::makeBells() {
  const std::scoped_lock Held(Lock);
  return In.make() && Out.make();
}

void Stream::listen() {
  std::unique_lock Held(Lock);
  Reading = Taking = false;
  proceed(std::move(Held));
}

void Stream::onTaken(bool) {
  std::unique_lock Held(Lock);
  Taking = false;
  proceed(std::move(Held));
}

void Stream::onAnswered(bool Ok) {
  std::unique_lock Held(Lock);
  Answered = Ok;
  Over = !Ok;
  Reading = Taking = false;
  In.ring();
  proceed(std::move(Held));
}

/// Sorts what came; false where it cannot be.
bool Stream::keep() {
  Message New;
  if (!Incoming.Dump(&New.Slices).ok())
    return false;
  std::erase_if(New.Slices, [](const grpc::Slice &Part) { return Part.size() == 0; });
  size_t Size = 0;
  for (const grpc::Slice &Part : New.Slices)
    Size += Part.size();
  Incoming.Clear();
  if (Size == 0) {
    Named = true;
  } else if (std::exchange(Named, false)) {
    if (Size > MaxName)
      return false;
    std::string Name;
    for (const grpc::Slice &Part : New.Slices)
      Name.append(reinterpret_cast<const char *>(Part.begin()), Part.size());
    if (Names.size() < MaxNames)
      Names.push_back(std::move(Name));
  } else if (!Leaving) {
    Waiting += Size;
    Came.push_back(std::move(New));
  }
  return true;
}

void Stream::onRead(bool Ok) {
  onHeard();
  std::unique_lock Held(Lock);
  Reading = false;
  Over = Over || !Ok || !keep();
  Answering = Awaited && !Came.empty() && !Works.isDelegated();
  In.ring();
  if (Over)
    Out.ring();
  proceed(std::move(Held));
}

void Stream::onWritten(bool Ok) {
  onHeard();
  std::unique_lock Held(Lock);
  Outgoing.pop_front();
  if (!Ok) {
    Broken = true;
    Outgoing.clear();
  }
  if (!Outgoing.empty()) {
    Held.unlock();
    return startWrite(&Outgoing.front());
  }
  Out.ring();
  proceed(std::move(Held));
}

void Stream::onBroken() {
  const std::scoped_lock Held(Lock);
  Broken = true;
  Out.ring();
}

void Stream::onFinished(bool) {
  const std::scoped_lock Held(Lock);
  Ended = true;
}

/// After the last that was pending.
void Stream::close() {
  {
    const std::scoped_lock Held(Lock);
    if (!Ended)
      return;
    Done = Over = Broken = true;
    In.ring();
    Out.ring();
  }
  drop();
}

} // namespace mlcb
