// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A learner at the other end of a channel gives the advice.
#pragma once

#include "channel/Channel.h"
#include "protocol/Framed.h"
#include "protocol/Observation.h"
#include "runner/ModelRunner.h"
#include "serdes/Serializer.h"

#include <functional>
#include <sys/types.h>

namespace mlcb {

class LocalModel;

/// How a RemoteRunner behaves beyond the conversation itself.
struct RemoteOptions {
  /// The first frame: the bound spec, to a learner that sent Hello; or the pid, on the channel of an episode.
  enum class Greeting { Hello, Begin } Greets = Greeting::Hello;

  std::vector<std::string> Metrics;    // those the learner wants
  Measure When = Measure::Always;      // and when
  const Serializer *Codec = nullptr;   // null: the one that the learner's Hello names, else Bitstream
  std::string Task, Parameters = "{}"; // what the learner asks for
  double ConnectSeconds = 60;          // how long the learner may take to come and to say Hello
  double IdleSeconds = 24 * 3600;      // how long the learner may think about one advice
  double SendSeconds = 60;             // how long it may take to drain a frame
  InterruptCheck Interrupted;          // ends any wait for the learner

  /// Answers a Fork frame: as fork(), 0 in the clone. Without it a Fork is refused.
  std::function<Expected<pid_t>()> Fork;

  /// Gives more members of the greeting Begin, as JSON, a comma before each.
  std::function<std::string()> About;

  /// Asked once, before the first observation: a channel on which a clone of this process is to wait for Fork frames, or none.
  std::function<FileDescriptor()> Snapshot;

  /// Called when the compiler's turn ends (it waits for advice) and begins again.
  std::function<void()> EndTurn, BeginTurn;
};

class RemoteRunner final : public ModelRunner {
public:
  /// Over a channel whose other end knows what to expect. bind() sends the greeting.
  RemoteRunner(std::unique_ptr<Channel> Link, RemoteOptions Options);

  /// Opens the FIFOs of BASE and hears the learner's Hello.
  static Expected<std::unique_ptr<RemoteRunner>> connect(const std::string &Base, RemoteOptions Options, Deadline Until);

  /// Hears the learner's Hello on a channel.
  static Expected<std::unique_ptr<RemoteRunner>> accept(std::unique_ptr<Channel> Link, RemoteOptions Options, Deadline Until);

  /// Says Bye if the conversation is still open.
  ~RemoteRunner() override;

  bool isRemote() const override { return true; }
  std::string_view task() const override { return Options.Task; }
  std::string_view parameters() const override { return Options.Parameters; }
  Expected<void> end(EndReason Why, size_t Agent) override;

  /// Tells the learner in an Error frame why the episode cannot go on.
  void refuse(Error Why) { (void)Link.refuse(std::move(Why)); }

  /// Where, and as which frame, a signal handler writes its Error; -1 once the channel is closed.
  int fileno() const { return Link.fileno(); }
  uint32_t nextSequence() const { return Link.nextSequence(); }

private:
  Expected<void> onBind() override;
  Expected<int64_t> choose(size_t Agent) override;
  Expected<double> value(size_t Agent) override;

  Expected<void> speak(std::string_view Serializer);
  Expected<void> greet();
  Expected<void> sendState(FrameKind Kind, size_t Agent, uint8_t Flags);
  Expected<Frame> awaitAnswer(size_t Agent);
  Expected<Frame> exchange(size_t Agent, bool Sends);
  Expected<bool> answerFork(FileDescriptor Episode);
  bool becomesSnapshot();
  Expected<void> delegate(const Frame &Sent);
  template <class T> Expected<std::optional<T>> advice(size_t Agent);

  Framed Link;
  RemoteOptions Options;
  const Serializer *Codec;                // never null
  std::vector<ObservationLayout> Layouts; // [agent]
  std::vector<TensorView> Views;
  Encoded State;
  std::vector<std::unique_ptr<LocalModel>> Models; // [agent]: what answers in the learner's place, or null
};

} // namespace mlcb
