// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/MlgoEnd.h"

namespace mlcb {

Expected<Message> MlgoEnd::receive(Deadline Until) {
  auto Ready = readable(Until);
  if (!Ready)
    return Unexpected(Ready.error());
  if (!*Ready)
    return fail(ErrorKind::Timeout, "the compiler did not ask in time");
  if (!*Pending) { // which stays: nothing after it can be understood
    Asking = false;
    close();
    return *Pending;
  }
  auto Got = *std::exchange(Pending, std::nullopt);
  Asking = Got->Kind == FrameKind::Observation;
  return Got;
}

Expected<bool> MlgoEnd::readable(Deadline Until) {
  bool Heard = false;
  while (!Pending) {
    if (!Link) // nothing more is read, although the decoder may hold some
      return fail(ErrorKind::PeerGone, "the channel is closed");
    auto Record = Decoder.next();
    if (!Record)
      Pending = Unexpected(Record.error());
    else if (*Record)
      take(std::move(**Record));
    else if (std::exchange(Heard, true) && Clock::now() >= Until) // one that speaks without end and never asks
      return false;
    else if (auto More = listen(Until); !More || !*More)
      return More;
  }
  return true;
}

/// Keeps what whoever decides must hear of.
void MlgoEnd::take(MlgoRecord Record) {
  if (Record.What == MlgoRecord::Kind::Context)
    Context = std::move(Record.Context);
  if (Record.What == MlgoRecord::Kind::Header && !Binding) {
    auto Bound = MlgoBinding::of(Decoder.header(), Spec);
    if (!Bound)
      Pending = Unexpected(Bound.error());
    else
      Binding = std::move(*Bound);
  }
  if (Record.What == MlgoRecord::Kind::Observation) {
    Views = Binding->views(Record.Tensors);
    Pending = Message{FrameKind::Observation, 0, Spec.Task.Agents[0].Inputs, Views, {}, Context};
  }
}

/// Waits for more bytes, or for the end; false at the deadline.
Expected<bool> MlgoEnd::listen(Deadline Until) {
  auto Got = Link->receive(Decoder.room(), Until);
  if (Got)
    Decoder.received(*Got);
  else if (Got.error().Kind == ErrorKind::Timeout)
    return false;
  else if (Got.error().Kind == ErrorKind::Interrupted)
    return Unexpected(Got.error());
  else
    Pending = Got.error().Kind == ErrorKind::PeerGone ? over() : Unexpected(Got.error());
  return true;
}

/// The message that the end of the compiler amounts to.
Expected<Message> MlgoEnd::over() const {
  const auto Whole = Decoder.end();
  if (!Whole && Binding)
    return fail(ErrorKind::PeerGone, "the compiler ended in mid-sentence: " + Whole.error().Message);
  return Message{FrameKind::Bye, 0, {}, {}, {}, {}};
}

Expected<void> MlgoEnd::advise(int64_t Index, Deadline Until) {
  const int At = Spec.Task.Agents[0].maskIndex();
  const auto Mask = Asking && At >= 0 ? Views[static_cast<size_t>(At)].Bytes : std::span<const std::byte>();
  return checkAdvice(asking(), Mask, Index).and_then([&] { return send(Binding->encode(Index), Until); });
}

Expected<void> MlgoEnd::advise(double Value, Deadline Until) {
  return checkAdvice(asking(), Value).and_then([&] { return send(Binding->encode(Value), Until); });
}

Expected<void> MlgoEnd::send(std::span<const std::byte> Bytes, Deadline Until) {
  if (!Link)
    return fail(ErrorKind::PeerGone, "the channel is closed");
  Asking = false;
  return Link->send(Bytes, Until);
}

} // namespace mlcb
