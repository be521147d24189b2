// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learner's end: of an episode, of a stock tool's conversation, or of a worker's control channel.
#pragma once

#include "protocol/Framed.h"
#include "protocol/Messages.h"
#include "protocol/Observation.h"
#include "serdes/Serializer.h"

#include <optional>

namespace mlcb {

/// A message of the compiler. Everything in it is valid until the next receive().
struct Message {
  FrameKind Kind;
  size_t Agent;
  std::span<const TensorSpec> Specs; // of Observation and EpisodeEnd: the agent's inputs, then the wanted metrics where they are due
  std::span<const TensorView> Views; // as Specs
  std::optional<EndReason> Reason;   // of EpisodeEnd
  std::string_view Text;             // of Hello and Begin
  ReceivedMemory Memory{};           // what the views may be into: who keeps it keeps them
};

class LearnerEnd {
public:
  explicit LearnerEnd(std::unique_ptr<Channel> Link) : Link(std::move(Link)) {}

  /// Of an episode whose spec, metrics and serializer were agreed on before.
  static Expected<LearnerEnd> ofEpisode(std::unique_ptr<Channel> Link, BoundSpec Spec, const std::vector<std::string> &Metrics,
                                        Measure When = Measure::Always, const Serializer &Codec = defaultSerializer());

  /// Asks the compiler to bind a task, and checks that it binds what this build would. A Hello without a task takes whichever
  /// the compiler has, as it declares it.
  Expected<void> hello(const Hello &Asked, Deadline Until);

  /// Asks a worker for an episode on the other end of a fresh socket pair.
  Expected<void> begin(std::string_view PayloadJson, const FileDescriptor &Episode, Deadline Until);

  Expected<Message> receive(Deadline Until);
  Expected<bool> readable(Deadline Until) { return Link.readable(Until); }

  /// Answers the last Observation. An index that its mask bars, or a value that is NaN, is an InvalidArgument, and the Observation still waits.
  Expected<void> advise(int64_t Index, Deadline Until);
  Expected<void> advise(double Value, Deadline Until);

  /// Leaves the last Observation, and all that would follow it, to ONNX models in the compiler: one for each agent.
  Expected<void> delegate(std::span<const std::string_view> Models, Deadline Until);

  /// The kind of advice that the last Observation asked for.
  AdviceKind asked() const;

  /// Clones the compiler where it stands; the clone speaks on the socket that is returned.
  Expected<FileDescriptor> fork(Deadline Until);

  /// Says Bye and closes. Harmless if closed already.
  void close();

  const BoundSpec &spec() const { return *Spec; }
  int fileno() const { return Link.fileno(); }

private:
  Expected<BoundSpec> askFor(const Hello &Asked, Deadline Until);
  Expected<void> bind(BoundSpec Bound, const std::vector<std::string> &Wanted, Measure When);
  const AdviceSpec *asking() const;
  Expected<void> answer(const void *Eight, Deadline Until);
  Expected<void> decode(const Frame &Got, Message &Into);
  void ask(size_t Agent);

  Framed Link;
  const Serializer *Codec = &defaultSerializer();
  std::optional<BoundSpec> Spec;
  std::vector<ObservationLayout> Layouts; // [agent]
  Decoded Tensors;                        // of the last frame
  std::optional<size_t> Asking;           // the agent that waits for advice
  std::vector<std::byte> Mask;            // what it may be advised
};

} // namespace mlcb
