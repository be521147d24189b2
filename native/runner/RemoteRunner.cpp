// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/RemoteRunner.h"

#include "channel/Fifo.h"
#include "runner/LocalModel.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace mlcb {
namespace {

Unexpected outOfTurn(const Frame &Got) {
  return fail(ErrorKind::ProtocolError, "a frame of kind '" + std::string(name(Got.Kind)) + "' came where advice was due");
}

} // namespace

RemoteRunner::RemoteRunner(std::unique_ptr<Channel> Link, RemoteOptions Options)
    : Link(std::move(Link)), Options(std::move(Options)), Codec(this->Options.Codec ? this->Options.Codec : &defaultSerializer()) {}

RemoteRunner::~RemoteRunner() {
  if (Link.isOpen())
    (void)Link.send(FrameKind::Bye, {}, after(FarewellSeconds));
}

Expected<std::unique_ptr<RemoteRunner>> RemoteRunner::connect(const std::string &Base, RemoteOptions Options, Deadline Until) {
  auto Pair = Fifo::open(Base, FifoEnd::Compiler);
  if (!Pair)
    return Unexpected(Pair.error());
  auto Connected = Pair->connect(Until, Options.Interrupted);
  if (!Connected)
    return Unexpected(Connected.error());
  return accept(std::move(*Connected), std::move(Options), Until);
}

Expected<std::unique_ptr<RemoteRunner>> RemoteRunner::accept(std::unique_ptr<Channel> Connected, RemoteOptions Options, Deadline Until) {
  if (Options.Interrupted)
    Connected->onWait(Options.Interrupted);
  auto Runner = std::make_unique<RemoteRunner>(std::move(Connected), std::move(Options));
  auto First = Runner->Link.receive(Until);
  if (!First)
    return Unexpected(First.error());
  if (First->Kind != FrameKind::Hello)
    return Runner->Link.refuse({ErrorKind::ProtocolError, "the first frame is not a Hello"});
  auto Asked = Hello::fromJson(First->text());
  if (!Asked)
    return Runner->Link.refuse(Asked.error());
  if (auto Chosen = Runner->speak(Asked->Serializer); !Chosen)
    return Runner->Link.refuse(Chosen.error());
  Runner->Options.Task = std::move(Asked->Task);
  Runner->Options.Parameters = std::move(Asked->Parameters);
  Runner->Options.Metrics = std::move(Asked->Metrics);
  Runner->Options.When = Asked->When;
  return Runner;
}

/// The learner chooses; who made this runner may insist on its own choice.
Expected<void> RemoteRunner::speak(std::string_view Serializer) {
  auto Found = findSerializer(Serializer);
  if (!Found)
    return Unexpected(Found.error());
  if (Options.Codec && *Found != Options.Codec)
    return fail(ErrorKind::InvalidArgument, "the learner asks for serializer '" + std::string(Serializer) + "', the compiler was told to use '" +
                                                std::string(Options.Codec->name()) + "'");
  Codec = *Found;
  return {};
}

Expected<void> RemoteRunner::onBind() {
  auto Wanted = wantMetrics(Spec, Options.Metrics);
  if (!Wanted)
    return Link.refuse(Wanted.error());
  WantedMetrics = std::move(*Wanted);
  WantedWhen = Options.When;
  Layouts = observationLayouts(Spec, WantedMetrics, WantedWhen);
  Models.clear();
  Models.resize(Spec.Task.Agents.size());
  return greet();
}

Expected<void> RemoteRunner::greet() {
  if (Options.Greets == RemoteOptions::Greeting::Hello)
    return Link.send(FrameKind::Hello, bytesOf(Spec.toJson()), after(Options.SendSeconds));
  const std::string Pid = "{\"pid\":" + std::to_string(::getpid()) + (Options.About ? Options.About() : "") + "}";
  return Link.send(FrameKind::Begin, bytesOf(Pid), after(Options.SendSeconds));
}

Expected<void> RemoteRunner::sendState(FrameKind Kind, size_t Agent, uint8_t Flags) {
  const std::span Specs = Layouts[Agent].of(Kind);
  Views.resize(Specs.size());
  size_t Next = 0;
  auto Add = [&](const Buffer &From) {
    Views[Next].Shape = From.Shape;
    Views[Next++].Bytes = From.bytes();
  };
  for (const Buffer &Input : Inputs[Agent])
    Add(Input);
  for (size_t I = 0; I < Metrics.size() && Next < Specs.size(); ++I)
    if (WantedMetrics[I])
      Add(Metrics[I]);
  Codec->gather(Specs, Views, State);
  return Link.sendPieces(Kind, State.Pieces, after(Options.SendSeconds), static_cast<uint8_t>(Agent), Flags);
}

/// The learner's turn, to read and to answer: the compiler's clock stands still.
Expected<Frame> RemoteRunner::exchange(size_t Agent, bool Sends) {
  if (Options.EndTurn)
    Options.EndTurn();
  const auto Sent = Sends ? sendState(FrameKind::Observation, Agent, 0) : Expected<void>();
  auto Got = Sent ? Link.receive(after(Options.IdleSeconds)) : Expected<Frame>(Unexpected(Sent.error()));
  if (Options.BeginTurn)
    Options.BeginTurn();
  return Got;
}

/// Advice, or the agent's Model.
Expected<Frame> RemoteRunner::awaitAnswer(size_t Agent) {
  bool Resend = !becomesSnapshot();
  for (;;) {
    auto Got = exchange(Agent, Resend);
    if (!Got || Got->Kind == FrameKind::Advice)
      return Got;
    if (Got->Kind == FrameKind::Bye) {
      Link.close();
      return fail(ErrorKind::PeerGone, "the learner ended the episode");
    }
    if (Got->Kind == FrameKind::Model) {
      if (auto Loaded = delegate(*Got); !Loaded)
        return Link.refuse(Loaded.error());
      if (Models[Agent])
        return Got;
      Resend = false;
      continue;
    }
    if (Got->Kind != FrameKind::Fork)
      return Link.refuse(outOfTurn(*Got).value());
    auto IsClone = answerFork(std::move(Got->Attached));
    if (!IsClone)
      return Unexpected(IsClone.error());
    Resend = *IsClone;
  }
}

/// True in the clone, which speaks on the episode's channel from here on. Whatever goes wrong is said there: the original goes on.
Expected<bool> RemoteRunner::answerFork(FileDescriptor Episode) {
  if (!Episode)
    return Link.refuse({ErrorKind::ProtocolError, "a Fork came without a channel for the clone"});
  const Expected<pid_t> Pid = Options.Fork ? Options.Fork() : fail(ErrorKind::InvalidArgument, "this compiler does not allow it");
  if (Pid && *Pid > 0)
    return false;
  Framed Clone(socketChannel(std::move(Episode)));
  if (!Pid) {
    (void)Clone.refuse({Pid.error().Kind, "the episode cannot be forked: " + Pid.error().Message});
    return false;
  }
  Link = std::move(Clone); // closes the clone's copy of the original's channel
  Options.Greets = RemoteOptions::Greeting::Begin;
  if (auto Greeted = greet(); !Greeted)
    return Unexpected(Greeted.error());
  return true;
}

/// True in the clone, which says nothing until it is cloned itself.
bool RemoteRunner::becomesSnapshot() {
  const auto Ask = std::exchange(Options.Snapshot, nullptr);
  FileDescriptor Channel = Ask ? Ask() : FileDescriptor();
  return Channel && answerFork(std::move(Channel)).value_or(false);
}

/// From here on a model answers for its agent. Where all have one, nobody hears of metrics before the end.
Expected<void> RemoteRunner::delegate(const Frame &Sent) {
  if (Sent.Agent >= Models.size())
    return fail(ErrorKind::ProtocolError, "a model of agent " + std::to_string(Sent.Agent) + ", there are " + std::to_string(Models.size()));
  auto Loaded = LocalModel::load(Sent.Payload, Spec.Task.Agents[Sent.Agent], Inputs[Sent.Agent]);
  if (!Loaded)
    return Unexpected(Loaded.error());
  Models[Sent.Agent] = std::move(*Loaded);
  if (std::ranges::all_of(Models, [](const auto &Model) { return Model != nullptr; }))
    WantedWhen = Measure::End;
  return {};
}

/// Nothing where a model answers.
template <class T> Expected<std::optional<T>> RemoteRunner::advice(size_t Agent) {
  if (Models[Agent])
    return std::nullopt;
  auto Got = awaitAnswer(Agent);
  if (!Got)
    return Unexpected(Got.error());
  if (Got->Kind == FrameKind::Model)
    return std::nullopt;
  T Advice;
  if (Got->Payload.size() != sizeof Advice)
    return Link.refuse(
        {ErrorKind::ProtocolError, "advice of " + std::to_string(Got->Payload.size()) + " bytes, expected " + std::to_string(sizeof Advice)});
  std::memcpy(&Advice, Got->Payload.data(), sizeof Advice);
  return Advice;
}

Expected<int64_t> RemoteRunner::choose(size_t Agent) {
  auto Index = advice<int64_t>(Agent);
  if (!Index)
    return Unexpected(Index.error());
  if (!*Index)
    return Models[Agent]->choose(mask(Agent));
  if (auto Allowed = checkAdvice(&Spec.Task.Agents[Agent].Advice, std::as_bytes(mask(Agent)), **Index); !Allowed)
    return Link.refuse({ErrorKind::ProtocolError, std::move(Allowed.error().Message)});
  return **Index;
}

Expected<double> RemoteRunner::value(size_t Agent) {
  auto Value = advice<double>(Agent);
  if (!Value)
    return Unexpected(Value.error());
  if (!*Value)
    return Models[Agent]->value();
  if (auto Allowed = checkAdvice(&Spec.Task.Agents[Agent].Advice, **Value); !Allowed)
    return Link.refuse({ErrorKind::ProtocolError, std::move(Allowed.error().Message)});
  return **Value;
}

Expected<void> RemoteRunner::end(EndReason Why, size_t Agent) { return sendState(FrameKind::EpisodeEnd, Agent, static_cast<uint8_t>(Why)); }

} // namespace mlcb
