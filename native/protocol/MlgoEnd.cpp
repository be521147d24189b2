// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/MlgoEnd.h"

namespace mlcb {
namespace {

Unexpected misplaced(const std::string &What) { return fail(ErrorKind::InvalidArgument, What); }

} // namespace

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
  while (!Pending) {
    if (!Link) // nothing more is read, although the decoder may hold some
      return fail(ErrorKind::PeerGone, "the channel is closed");
    auto Record = Decoder.next();
    if (!Record)
      Pending = Unexpected(Record.error());
    else if (*Record)
      take(std::move(**Record));
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
  const AgentSpec &Agent = Spec.Task.Agents[0];
  if (Asking && asked() == AdviceKind::Argmax) {
    const int Mask = Agent.maskIndex();
    const auto Legal = Mask < 0 ? std::span<const std::byte>() : Views[static_cast<size_t>(Mask)].Bytes;
    if (auto Why = objection(Agent.Advice, Legal, Index))
      return misplaced(*Why);
  }
  return send(AdviceKind::Argmax, Binding ? Binding->encode(Index) : std::vector<std::byte>(), Until);
}

Expected<void> MlgoEnd::advise(double Value, Deadline Until) {
  if (Asking && asked() == AdviceKind::Value)
    if (auto Why = objection(Spec.Task.Agents[0].Advice, Value))
      return misplaced(*Why);
  return send(AdviceKind::Value, Binding ? Binding->encode(Value) : std::vector<std::byte>(), Until);
}

Expected<void> MlgoEnd::send(AdviceKind Kind, std::span<const std::byte> Bytes, Deadline Until) {
  if (!Asking)
    return misplaced("advice was given where no observation asks for it");
  if (asked() != Kind)
    return misplaced(Kind == AdviceKind::Value ? "the agent asks for an index, not for a value" : "the agent asks for a value, not for an index");
  if (!Link)
    return fail(ErrorKind::PeerGone, "the channel is closed");
  Asking = false;
  return Link->send(Bytes, Until);
}

} // namespace mlcb
