// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler's runner and a learner over a socket. Frames wait in the socket, so that one thread can play both.
#include "OwnTasks.h"
#include "Support.h"
#include "protocol/LearnerEnd.h"
#include "runner/RemoteRunner.h"
#include "spec/Tasks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <limits>
#include <sys/wait.h>
#include <unistd.h>

namespace mlcb {
namespace {

using namespace test;
using posetrl::Metric;
using posetrl::orderer;

/// A runner bound to the small spec, which shows a state whose mask bars action 1.
class Compiler {
public:
  explicit Compiler(std::unique_ptr<Channel> Link, RemoteOptions Options = {}) : Runner(std::move(Link), began(std::move(Options))) {
    EXPECT_TRUE(succeeds(Runner.bind(smallSpec())));
    std::ranges::copy(std::to_array<float>({0.5F, -1}), Runner.tensor<float>(orderer::embedding).begin());
    std::ranges::copy(std::to_array<int8_t>({1, 0, 1}), Runner.tensor<int8_t>(orderer::action_mask).begin());
    Runner.metric<int64_t>(Metric::size) = 1234;
  }

  Expected<int64_t> ask() { return Runner.evaluate<int64_t>(); }

  RemoteRunner Runner;

private:
  static RemoteOptions began(RemoteOptions Options) {
    Options.Greets = RemoteOptions::Greeting::Begin;
    return Options;
  }
};

/// A learner that writes frames itself.
class Learner {
public:
  explicit Learner(std::unique_ptr<Channel> Link) : Link(std::move(Link)) {}

  template <class T> void advise(T Advice) { say(FrameKind::Advice, std::as_bytes(std::span(&Advice, 1))); }

  void say(FrameKind Kind, std::span<const std::byte> Payload = {}, int Attach = -1, uint8_t Agent = 0) {
    EXPECT_TRUE(succeeds(Link.send(Kind, Payload, patience(), Agent, 0, Attach)));
  }

  std::vector<std::byte> hear(FrameKind Kind) {
    const auto Got = Link.receive(patience());
    EXPECT_TRUE(succeeds(Got));
    if (!Got)
      return {};
    EXPECT_EQ(name(Got->Kind), name(Kind));
    return {Got->Payload.begin(), Got->Payload.end()};
  }

  /// The next frame is an Error that contains Part.
  testing::AssertionResult isRefused(std::string_view Part) { return failsWith(Link.receive(patience()), ErrorKind::PeerError, Part); }

  Framed Link;
};

class Conversation : public testing::Test {
protected:
  Ends Pair;
  Learner Them{Pair.ours()};

  Compiler compiler(RemoteOptions Options = {}) { return Compiler(Pair.theirs(), std::move(Options)); }

  /// The frames before an Error: the greeting and the observation.
  void hearState() {
    Them.hear(FrameKind::Begin);
    Them.hear(FrameKind::Observation);
  }
};

/// A LearnerEnd whose compiler has sent a first observation and not waited for an answer.
class LearnerSide : public testing::Test {
protected:
  void begin(Measure When = Measure::Always) {
    Us.emplace(LearnerEnd::ofEpisode(Pair.ours(), smallSpec(), {"size"}, When).value());
    Them.emplace(Pair.theirs(), RemoteOptions{.Metrics = {"size"}, .When = When, .IdleSeconds = 0});
    EXPECT_TRUE(failsWith(Them->ask(), ErrorKind::Timeout, ""));
    EXPECT_EQ(Us->receive(patience()).value().Kind, FrameKind::Begin);
  }

  Ends Pair;
  std::optional<LearnerEnd> Us;
  std::optional<Compiler> Them;
};

TEST_F(Conversation, AdviceAnswersAnObservation) {
  Them.advise<int64_t>(2);
  EXPECT_EQ(compiler().ask().value(), 2);
}

TEST_F(Conversation, EpisodeRunsFromBeginToEnd) {
  Ends Fresh;
  auto Learning = LearnerEnd::ofEpisode(Fresh.ours(), smallSpec(), {"size"}).value();
  auto Compiled = std::async(std::launch::async, [&] {
    Compiler It(Fresh.theirs(), {.Metrics = {"size"}});
    const auto Advice = It.ask();
    EXPECT_TRUE(succeeds(It.Runner.end(EndReason::Stopped, 0)));
    return Advice.value_or(-1);
  });
  EXPECT_EQ(Learning.receive(patience()).value().Kind, FrameKind::Begin);
  ASSERT_EQ(Learning.receive(patience()).value().Kind, FrameKind::Observation);
  ASSERT_TRUE(succeeds(Learning.advise(int64_t(2), patience())));
  EXPECT_EQ(Learning.receive(patience()).value().Reason, EndReason::Stopped);
  EXPECT_EQ(Learning.receive(patience()).value().Kind, FrameKind::Bye);
  EXPECT_EQ(Compiled.get(), 2);
}

TEST_F(Conversation, MaskedAdviceIsRefusedByTheCompiler) {
  Them.advise<int64_t>(1);
  EXPECT_TRUE(failsWith(compiler().ask(), ErrorKind::ProtocolError, "advice 1 for subsequence is masked"));
  hearState();
  EXPECT_TRUE(Them.isRefused("advice 1 for subsequence is masked"));
}

TEST_F(Conversation, AdviceBeyondTheChoicesIsRefusedByTheCompiler) {
  for (int64_t Advice : {int64_t(-1), int64_t(3), INT64_MIN, INT64_MAX}) {
    Ends Fresh;
    Learner Fool(Fresh.ours());
    Fool.advise(Advice);
    EXPECT_TRUE(failsWith(Compiler(Fresh.theirs()).ask(), ErrorKind::ProtocolError, "is not one of 3 choices"));
  }
}

TEST(Advice, MaskShorterThanTheChoicesBarsTheRest) {
  const AdviceSpec Asked = smallSpec().Task.Agents[0].Advice;
  EXPECT_TRUE(succeeds(checkAdvice(&Asked, bytes({0, 1}), 1)));
  EXPECT_TRUE(failsWith(checkAdvice(&Asked, bytes({0, 1}), 2), ErrorKind::InvalidArgument, "advice 2 for subsequence is masked"));
  EXPECT_TRUE(succeeds(checkAdvice(&Asked, {}, 2)));
}

/// The second agent is advised a value.
TEST_F(Conversation, AdviceThatIsNaNIsRefusedAtBothEnds) {
  constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
  RemoteRunner Runner(Pair.theirs(), {.Greets = RemoteOptions::Greeting::Begin});
  ASSERT_TRUE(succeeds(Runner.bind(readSpec(FirstAndSecond).value())));
  Them.advise(NaN);
  EXPECT_TRUE(failsWith(Runner.evaluate<double>(1), ErrorKind::ProtocolError, "advice for cost is NaN, expected a number"));
  hearState();
  EXPECT_TRUE(Them.isRefused("advice for cost is NaN"));
}

TEST(LearnersEnd, RefusesToAdviseNaNAndMayAdviseAnew) {
  Ends Pair;
  RemoteRunner Runner(Pair.theirs(), {.Greets = RemoteOptions::Greeting::Begin, .IdleSeconds = 0});
  ASSERT_TRUE(succeeds(Runner.bind(readSpec(FirstAndSecond).value())));
  EXPECT_TRUE(failsWith(Runner.evaluate<double>(1), ErrorKind::Timeout, ""));
  auto Us = LearnerEnd::ofEpisode(Pair.ours(), readSpec(FirstAndSecond).value(), {}).value();
  ASSERT_TRUE(succeeds(Us.receive(patience())));
  ASSERT_TRUE(succeeds(Us.receive(patience())));
  EXPECT_TRUE(failsWith(Us.advise(std::numeric_limits<double>::quiet_NaN(), patience()), ErrorKind::InvalidArgument, "is NaN, expected a number"));
  EXPECT_TRUE(succeeds(Us.advise(1.5, patience())));
}

TEST_F(Conversation, AdviceOfAnotherSizeIsRefused) {
  Them.advise<int32_t>(0);
  EXPECT_TRUE(failsWith(compiler().ask(), ErrorKind::ProtocolError, "advice of 4 bytes, expected 8"));
}

TEST_F(Conversation, AnyOtherFrameWhereAdviceIsDueIsRefused) {
  Them.say(FrameKind::Hello);
  EXPECT_TRUE(failsWith(compiler().ask(), ErrorKind::ProtocolError, "'hello' came where advice was due"));
  hearState();
  EXPECT_TRUE(Them.isRefused("'hello' came where advice was due"));
}

TEST_F(Conversation, LearnerThatLeavesEndsTheEpisode) {
  Them.say(FrameKind::Bye);
  EXPECT_TRUE(failsWith(compiler().ask(), ErrorKind::PeerGone, "the learner ended the episode"));
}

TEST_F(Conversation, LearnerThatDiesEndsTheEpisode) {
  auto It = compiler();
  Them.Link.close();
  EXPECT_TRUE(failsWith(It.ask(), ErrorKind::PeerGone, ""));
}

TEST_F(Conversation, LearnerThatIdlesTooLongEndsTheEpisode) { EXPECT_TRUE(failsWith(compiler({.IdleSeconds = 0.01}).ask(), ErrorKind::Timeout, "")); }

TEST_F(Conversation, CompilersClockStandsStillWhileItWaits) {
  std::string Turns;
  Them.advise<int64_t>(0);
  auto It = compiler({.EndTurn = [&] { Turns += "wait "; }, .BeginTurn = [&] { Turns += "work "; }});
  ASSERT_TRUE(succeeds(It.ask()));
  EXPECT_EQ(Turns, "wait work ");
}

TEST_F(Conversation, ForkIsAnsweredByACloneWithTheSameObservation) {
  Ends Clone;
  Learner OfClone(Clone.ours());
  OfClone.advise<int64_t>(2);
  Them.say(FrameKind::Fork, {}, Clone.Theirs.get());
  Them.advise<int64_t>(0);
  pid_t Child = -1;
  auto It = compiler({.Fork = [&] { return Child = ::fork(); }});
  const auto Advice = It.ask();
  if (Child == 0)
    ::_exit(static_cast<int>(Advice.value_or(99)));
  int Status = 0;
  ASSERT_EQ(::waitpid(Child, &Status, 0), Child);
  EXPECT_EQ(WEXITSTATUS(Status), 2);
  EXPECT_EQ(Advice.value(), 0);
  Them.hear(FrameKind::Begin);
  const auto Original = Them.hear(FrameKind::Observation);
  OfClone.hear(FrameKind::Begin);
  EXPECT_EQ(OfClone.hear(FrameKind::Observation), Original);
}

TEST_F(Conversation, ForkThatCannotBeIsSaidOnTheClonesChannelAlone) {
  Ends Clone;
  Them.say(FrameKind::Fork, {}, Clone.Theirs.get());
  Them.advise<int64_t>(2);
  EXPECT_EQ(compiler().ask().value(), 2);
  EXPECT_TRUE(Learner(Clone.ours()).isRefused("cannot be forked: this compiler does not allow it"));
}

TEST_F(Conversation, ForkWithoutAChannelIsRefused) {
  Them.say(FrameKind::Fork);
  EXPECT_TRUE(failsWith(compiler().ask(), ErrorKind::ProtocolError, "without a channel for the clone"));
}

TEST_F(Conversation, WhatIsNoModelIsRefused) {
  Them.say(FrameKind::Model, bytesOf("no model"));
  EXPECT_TRUE(failsWith(compiler().ask(), ErrorKind::InvalidArgument, "the learner's model cannot be read, expected an ONNX model"));
  Them.hear(FrameKind::Begin);
  Them.hear(FrameKind::Observation);
  EXPECT_TRUE(Them.isRefused("the learner's model cannot be read, expected an ONNX model"));
}

TEST_F(Conversation, ModelOfAnAgentThatIsNotThereIsRefused) {
  Them.say(FrameKind::Model, {}, -1, /*Agent=*/1);
  EXPECT_TRUE(failsWith(compiler().ask(), ErrorKind::ProtocolError, "a model of agent 1, there are 1"));
}

TEST_F(LearnerSide, ObservationHoldsTensorsAndWantedMetricsByTheirNames) {
  begin();
  const Message Got = Us->receive(patience()).value();
  ASSERT_EQ(Got.Kind, FrameKind::Observation);
  ASSERT_EQ(Got.Specs.size(), smallSpec().Task.Agents[0].Inputs.size() + 1);
  EXPECT_EQ(Got.Specs.front().Name, "embedding");
  float Embedding[2];
  ASSERT_EQ(Got.Views.front().Bytes.size(), sizeof Embedding);
  std::memcpy(Embedding, Got.Views.front().Bytes.data(), sizeof Embedding);
  EXPECT_EQ(Embedding[1], -1);
  EXPECT_EQ(Got.Specs.back().Name, "size");
  int64_t Size;
  std::memcpy(&Size, Got.Views.back().Bytes.data(), sizeof Size);
  EXPECT_EQ(Size, 1234);
}

TEST_F(LearnerSide, MetricsWantedAtTheEndComeThereAlone) {
  begin(Measure::End);
  EXPECT_EQ(Us->receive(patience()).value().Specs.back().Name, "action_mask");
  ASSERT_TRUE(succeeds(Them->Runner.end(EndReason::Horizon, 0)));
  EXPECT_EQ(Us->receive(patience()).value().Specs.back().Name, "size");
}

TEST_F(LearnerSide, MaskedAdviceIsRefusedByTheLearnersEndAndMayBeGivenAnew) {
  begin();
  ASSERT_TRUE(succeeds(Us->receive(patience())));
  EXPECT_TRUE(failsWith(Us->advise(int64_t(1), patience()), ErrorKind::InvalidArgument, "subsequence is masked"));
  EXPECT_TRUE(failsWith(Us->advise(int64_t(3), patience()), ErrorKind::InvalidArgument, "not one of 3 choices"));
  EXPECT_TRUE(succeeds(Us->advise(int64_t(2), patience())));
}

/// What comes after the observation takes its place in memory.
TEST_F(LearnerSide, MaskStaysWhatItWasAfterAReceiveThatTimedOut) {
  const int Raw = Pair.Theirs.get();
  begin();
  ASSERT_TRUE(succeeds(Us->receive(patience())));
  const auto Header = encode({.Kind = FrameKind::Observation, .Sequence = 2, .Length = 1 << 16});
  const std::vector<std::byte> Ones(4096, std::byte{1});
  ASSERT_EQ(::write(Raw, Header.data(), Header.size()), static_cast<ssize_t>(Header.size()));
  ASSERT_EQ(::write(Raw, Ones.data(), Ones.size()), static_cast<ssize_t>(Ones.size()));
  EXPECT_TRUE(failsWith(Us->receive(soon()), ErrorKind::Timeout, ""));
  EXPECT_TRUE(failsWith(Us->advise(int64_t(1), patience()), ErrorKind::InvalidArgument, "subsequence is masked"));
  EXPECT_TRUE(succeeds(Us->advise(int64_t(2), patience())));
}

TEST_F(LearnerSide, EpisodeIsLeftToAModelForEachAgentWhereAdviceIsDue) {
  const std::string_view Models[] = {"one", "another"};
  begin();
  EXPECT_TRUE(failsWith(Us->delegate(std::span(Models, 1), patience()), ErrorKind::InvalidArgument, "only where an observation waits"));
  ASSERT_TRUE(succeeds(Us->receive(patience())));
  EXPECT_TRUE(failsWith(Us->delegate(Models, patience()), ErrorKind::InvalidArgument, "2 models, expected one for each of 1 agents"));
  EXPECT_TRUE(succeeds(Us->delegate(std::span(Models, 1), patience())));
  EXPECT_TRUE(failsWith(Us->advise(int64_t(2), patience()), ErrorKind::InvalidArgument, "no observation asks"));
}

TEST_F(LearnerSide, AdviceIsGivenOnceAndOfTheKindThatIsAsked) {
  begin();
  EXPECT_TRUE(failsWith(Us->advise(int64_t(0), patience()), ErrorKind::InvalidArgument, "no observation asks for it"));
  ASSERT_TRUE(succeeds(Us->receive(patience())));
  EXPECT_TRUE(failsWith(Us->advise(0.5, patience()), ErrorKind::InvalidArgument, "asks for an index"));
  EXPECT_TRUE(succeeds(Us->advise(int64_t(0), patience())));
  EXPECT_TRUE(failsWith(Us->advise(int64_t(0), patience()), ErrorKind::InvalidArgument, "no observation asks for it"));
}

/// A message that a compiler must not send is refused with an Error frame.
class FakeCompiler : public testing::Test {
protected:
  Ends Pair;
  Learner Them{Pair.theirs()};
  LearnerEnd Us = LearnerEnd::ofEpisode(Pair.ours(), smallSpec(), {}).value();

  void refuses(std::string_view Sentence) {
    EXPECT_TRUE(failsWith(Us.receive(patience()), ErrorKind::ProtocolError, Sentence));
    EXPECT_TRUE(Them.isRefused(Sentence));
  }
};

TEST_F(FakeCompiler, FrameOfTheWrongKindIsRefused) {
  Them.advise<int64_t>(0);
  refuses("a compiler does not send 'advice'");
}

TEST_F(FakeCompiler, TruncatedObservationIsRefused) {
  Them.say(FrameKind::Observation, bytes({0, 0, 0, 0}));
  refuses("tensor embedding needs 8 bytes, the payload has 4 left");
}

TEST_F(FakeCompiler, UnknownAgentIsRefused) {
  ASSERT_TRUE(succeeds(Them.Link.send(FrameKind::Observation, {}, patience(), 7)));
  refuses("an observation of agent 7");
}

TEST_F(FakeCompiler, HelloOfAnotherSpecIsASpecMismatch) {
  Them.say(FrameKind::Hello, bytesOf(smallSpec().toJson()));
  EXPECT_TRUE(failsWith(Us.hello({.Task = "posetrl"}, patience()), ErrorKind::SpecMismatch,
                        "posetrl/embedding: compiler sends float32[2], this build expects float32[300]"));
  Them.hear(FrameKind::Hello);
  EXPECT_TRUE(Them.isRefused("posetrl/embedding"));
}

TEST_F(FakeCompiler, HelloIsAnsweredByAHello) {
  Them.say(FrameKind::Bye);
  EXPECT_TRUE(failsWith(Us.hello({.Task = "posetrl"}, patience()), ErrorKind::ProtocolError, "is not a Hello"));
}

TEST_F(FakeCompiler, HelloKeepsWhatItAsksForThroughItsJson) {
  const Hello Asked{"posetrl", R"({"max_steps":3})", "bitstream", {"size", "text"}, Measure::End};
  const Hello Read = Hello::fromJson(Asked.toJson()).value();
  EXPECT_EQ(Read.Parameters, Asked.Parameters);
  EXPECT_EQ(Read.Metrics, Asked.Metrics);
  EXPECT_EQ(Read.When, Asked.When);
  EXPECT_TRUE(failsWith(Hello::fromJson("[]"), ErrorKind::ProtocolError, "not a JSON object"));
  EXPECT_TRUE(failsWith(Hello::fromJson(R"({"metrics":"size"})"), ErrorKind::ProtocolError, "a list of names"));
  EXPECT_TRUE(failsWith(Hello::fromJson(R"({"measure":"never"})"), ErrorKind::ProtocolError, "measure is \"never\""));
}

} // namespace
} // namespace mlcb
