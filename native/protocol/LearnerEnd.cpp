// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/LearnerEnd.h"

#include "channel/FdChannel.h"

namespace mlcb {
namespace {

Unexpected misplaced(const std::string &What) { return fail(ErrorKind::InvalidArgument, What); }

} // namespace

Expected<LearnerEnd> LearnerEnd::ofEpisode(std::unique_ptr<Channel> Link, BoundSpec Spec, const std::vector<std::string> &Metrics, Measure When,
                                           const Serializer &Codec) {
  LearnerEnd End(std::move(Link));
  End.Codec = &Codec;
  if (auto Done = End.bind(std::move(Spec), Metrics, When); !Done)
    return Unexpected(Done.error());
  return End;
}

Expected<void> LearnerEnd::bind(BoundSpec Bound, const std::vector<std::string> &Wanted, Measure When) {
  auto Flags = wantMetrics(Bound, Wanted);
  if (!Flags)
    return Unexpected(Flags.error());
  Layouts = observationLayouts(Bound, *Flags, When);
  Spec = std::move(Bound);
  return {};
}

Expected<void> LearnerEnd::hello(const Hello &Asked, Deadline Until) {
  auto Found = findSerializer(Asked.Serializer);
  if (!Found)
    return Unexpected(Found.error());
  Codec = *Found;
  auto Bound = askFor(Asked, Until);
  if (!Bound)
    return Unexpected(Bound.error());
  return bind(std::move(*Bound), Asked.Metrics, Asked.When);
}

/// The spec that both ends bind.
Expected<BoundSpec> LearnerEnd::askFor(const Hello &Asked, Deadline Until) {
  const bool AnyTask = Asked.Task.empty();
  const TaskSpec *Task = findTask(Asked.Task);
  if (!Task && !AnyTask)
    return misplaced("task '" + Asked.Task + "' is not one that this build knows");
  auto Ours = AnyTask ? Expected<BoundSpec>() : bindTask(*Task, Asked.Parameters);
  if (!Ours)
    return Ours;
  if (auto Sent = Link.send(FrameKind::Hello, bytesOf(Asked.toJson()), Until); !Sent)
    return Unexpected(Sent.error());
  auto Answer = Link.receive(Until);
  if (!Answer)
    return Unexpected(Answer.error());
  if (Answer->Kind != FrameKind::Hello)
    return Link.refuse({ErrorKind::ProtocolError, "the answer to Hello is not a Hello"});
  auto Theirs = AnyTask ? readSpec(Answer->text()) : rebind(Answer->text());
  if (Theirs && !AnyTask && Theirs->Digest != Ours->Digest)
    Theirs = fail(ErrorKind::SpecMismatch, describeMismatch(Answer->text(), Ours->toJson()));
  if (!Theirs)
    return Link.refuse(Theirs.error());
  return Theirs;
}

Expected<void> LearnerEnd::begin(std::string_view PayloadJson, const FileDescriptor &Episode, Deadline Until) {
  return Link.send(FrameKind::Begin, bytesOf(PayloadJson), Until, 0, 0, Episode.get());
}

Expected<Message> LearnerEnd::receive(Deadline Until) {
  auto Got = Link.receive(Until);
  if (!Got)
    return Unexpected(Got.error());
  Message Result{Got->Kind, Got->Agent, {}, {}, {}, {}, Got->Memory};
  Asking.reset();
  switch (Got->Kind) {
  case FrameKind::Hello:
  case FrameKind::Begin: Result.Text = Got->text(); return Result;
  case FrameKind::Bye: return Result;
  case FrameKind::Observation:
  case FrameKind::EpisodeEnd:
    if (auto Done = decode(*Got, Result); !Done)
      return Link.refuse(Done.error());
    return Result;
  default: return Link.refuse({ErrorKind::ProtocolError, "a compiler does not send '" + std::string(name(Got->Kind)) + "'"});
  }
}

Expected<void> LearnerEnd::decode(const Frame &Got, Message &Into) {
  if (Got.Agent >= Layouts.size())
    return fail(ErrorKind::ProtocolError, "an observation of agent " + std::to_string(Got.Agent) + ", there are " + std::to_string(Layouts.size()));
  Into.Specs = Layouts[Got.Agent].of(Got.Kind);
  if (auto Done = Codec->decode(Into.Specs, Got.Payload, Tensors); !Done)
    return Done;
  Into.Views = Tensors.Views;
  if (Got.Kind == FrameKind::Observation) {
    ask(Got.Agent);
    return {};
  }
  Into.Reason = endReason(Got.Flags);
  if (!Into.Reason)
    return fail(ErrorKind::ProtocolError, "an episode ended for unknown reason " + std::to_string(Got.Flags));
  return {};
}

/// The mask is kept: a receive() that times out may move what the views are into.
void LearnerEnd::ask(size_t Agent) {
  Asking = Agent;
  Mask.clear();
  if (const int At = Spec->Task.Agents[Agent].maskIndex(); At >= 0)
    Mask.assign(Tensors.Views[static_cast<size_t>(At)].Bytes.begin(), Tensors.Views[static_cast<size_t>(At)].Bytes.end());
}

/// Null where no observation waits for advice.
const AdviceSpec *LearnerEnd::asking() const { return Asking ? &Spec->Task.Agents[*Asking].Advice : nullptr; }

AdviceKind LearnerEnd::asked() const { return Asking ? asking()->Kind : AdviceKind::Argmax; }

Expected<void> LearnerEnd::advise(int64_t Index, Deadline Until) {
  return checkAdvice(asking(), Mask, Index).and_then([&] { return answer(&Index, Until); });
}

Expected<void> LearnerEnd::advise(double Value, Deadline Until) {
  return checkAdvice(asking(), Value).and_then([&] { return answer(&Value, Until); });
}

Expected<void> LearnerEnd::answer(const void *Eight, Deadline Until) {
  const auto Agent = static_cast<uint8_t>(*std::exchange(Asking, std::nullopt));
  return Link.send(FrameKind::Advice, {static_cast<const std::byte *>(Eight), 8}, Until, Agent);
}

Expected<void> LearnerEnd::delegate(std::span<const std::string_view> Models, Deadline Until) {
  if (!Asking)
    return misplaced("an episode can be left to models only where an observation waits for advice");
  if (Models.size() != Layouts.size())
    return misplaced(std::to_string(Models.size()) + " models, expected one for each of " + std::to_string(Layouts.size()) + " agents");
  const size_t Last = *std::exchange(Asking, std::nullopt); // with its model the compiler goes on
  for (size_t I = 1; I <= Models.size(); ++I) {
    const size_t Agent = (Last + I) % Models.size();
    if (auto Sent = Link.send(FrameKind::Model, bytesOf(Models[Agent]), Until, static_cast<uint8_t>(Agent)); !Sent)
      return Sent;
  }
  return {};
}

Expected<FileDescriptor> LearnerEnd::fork(Deadline Until) {
  if (!Asking)
    return misplaced("an episode can be forked only where an observation waits for advice");
  auto Pair = socketPair();
  if (!Pair)
    return Unexpected(Pair.error());
  if (auto Sent = Link.send(FrameKind::Fork, {}, Until, 0, 0, Pair->second.get()); !Sent)
    return Unexpected(Sent.error());
  return std::move(Pair->first);
}

void LearnerEnd::close() {
  if (Link.isOpen())
    (void)Link.send(FrameKind::Bye, {}, after(FarewellSeconds));
  Link.close();
}

} // namespace mlcb
