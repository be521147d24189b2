// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runners by their URIs, the tensors that a compiler fills, and the Hello of a stock tool.
#include "OwnTasks.h"
#include "Support.h"
#include "channel/Fifo.h"
#include "protocol/LearnerEnd.h"
#include "runner/InProcessRunner.h"
#include "runner/RemoteRunner.h"
#include "spec/Tasks.h"

#include <algorithm>
#include <future>
#include <limits>

namespace mlcb {
namespace {

using namespace test;

TEST(Runner, DefaultIsTheCompilersOwnHeuristic) {
  auto Runner = openRunner("default:").value();
  EXPECT_FALSE(Runner->decides());
  ASSERT_TRUE(succeeds(Runner->bind(smallSpec())));
  EXPECT_TRUE(failsWith(Runner->evaluate<int64_t>(), ErrorKind::NoAdvice, "gives no advice"));
}

TEST(Runner, UriThatNamesNoRunnerIsRefusedWithWhatIsExpected) {
  EXPECT_TRUE(failsWith(openRunner("carrier-pigeon:x"), ErrorKind::InvalidArgument, "unknown scheme"));
  EXPECT_TRUE(failsWith(openRunner("pipe:"), ErrorKind::InvalidArgument, "expected pipe:BASE"));
  EXPECT_TRUE(failsWith(openRunner(""), ErrorKind::InvalidArgument, "expected pipe:BASE"));
  for (const char *Uri : {"pipe:x?timeout=", "shm:x?timeout=soon", "pipe:x?serdes=json&timeout=-1", "pipe:x?timeout=1s"})
    EXPECT_TRUE(failsWith(openRunner(Uri), ErrorKind::InvalidArgument, "expected a positive number of seconds"));
  EXPECT_TRUE(failsWith(openRunner("pipe:x?serdes=xml"), ErrorKind::InvalidArgument, "unknown serializer 'xml'"));
  EXPECT_TRUE(failsWith(openRunner("pipe:x?speed=9"), ErrorKind::InvalidArgument, "unknown option 'speed=9'"));
}

TEST(Runner, PolicyThatIsNotThereIsNamed) {
  const auto Opened = openRunner("onnx:/no/such/policy");
  ASSERT_FALSE(Opened);
  EXPECT_TRUE(failsWith(Opened, Opened.error().Kind, "/no/such/policy"));
}

TEST(Runner, TensorsAreZeroAlignedAndOfTheirMaximalShape) {
  auto Runner = openRunner("default:").value();
  ASSERT_TRUE(succeeds(Runner->bind(smallSpec())));
  const auto Opcodes = Runner->tensor<int64_t>(posetrl::orderer::opcodes);
  EXPECT_EQ(Opcodes.size(), 68u);
  EXPECT_EQ(std::ranges::count(Opcodes, 0), 68);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Opcodes.data()) % 64, 0u);
  EXPECT_EQ(Runner->tensor<float>(posetrl::orderer::progress).size(), 1u);
}

TEST(Runner, ShapeThatIsNotAllowedEndsTheProcessEvenWhereItsElementsWouldFit) {
  auto Runner = openRunner("default:").value();
  ASSERT_TRUE(succeeds(Runner->bind(readSpec(Unroll).value())));
  const std::vector<int64_t> Allowed{5, 2};
  EXPECT_EQ(Runner->resize<float>(1, Allowed).size(), 10u);
  for (const std::vector<int64_t> &Shape : {std::vector<int64_t>{10, 1}, {10}, {5, 2, 1}, {-1, 2}, {6, 2}})
    EXPECT_DEATH(Runner->resize<float>(1, Shape), "");
}

template <class T>
concept HasTensor = requires(ModelRunner &Runner) { Runner.tensor<T>(0); };

TEST(Runner, TextIsNoTensor) {
  static_assert(HasTensor<float> && HasTensor<bool>);
  static_assert(!HasTensor<std::string>);
}

TEST(Runner, ValueOfAModelIsANumber) {
  const BoundSpec Spec = readSpec(FirstAndSecond).value();
  const AgentSpec &Judge = Spec.Task.Agents[1];
  EXPECT_EQ(valueOf(std::vector{0.5F}, Judge).value(), 0.5);
  EXPECT_TRUE(failsWith(valueOf(std::vector{std::numeric_limits<float>::quiet_NaN()}, Judge), ErrorKind::InvalidArgument, "says NaN"));
}

/// A stock tool's FIFOs.
class ToolConversation : public FifoTest {
protected:
  /// A learner's Hello, said from another thread.
  std::future<Expected<void>> learnerAsks(Hello Asked) {
    return std::async(std::launch::async, [this, Asked]() -> Expected<void> {
      auto Link = Fifo::open(Base, FifoEnd::Learner).value().connect(patience());
      if (!Link)
        return Unexpected(Link.error());
      return LearnerEnd(std::move(*Link)).hello(Asked, patience());
    });
  }
};

TEST_F(ToolConversation, BindsWhatTheLearnerAsksFor) {
  auto Learner = learnerAsks({.Task = "posetrl", .Parameters = R"({"max_steps":3})", .Metrics = {"size"}});
  auto Runner = RemoteRunner::connect(Base, {}, patience()).value();
  EXPECT_EQ(Runner->task(), "posetrl");
  ASSERT_TRUE(succeeds(Runner->bind(bindTask(posetrlTask(), Runner->parameters()).value())));
  EXPECT_TRUE(Runner->wants(posetrl::Metric::size));
  EXPECT_FALSE(Runner->wants(posetrl::Metric::throughput));
  EXPECT_TRUE(succeeds(Learner.get()));
}

TEST_F(ToolConversation, UnknownMetricIsRefusedAtBothEnds) {
  auto Learner = learnerAsks({.Task = "posetrl", .Metrics = {"beauty"}});
  auto Runner = RemoteRunner::connect(Base, {}, patience()).value();
  const auto Bound = Runner->bind(bindTask(posetrlTask(), "{}").value());
  EXPECT_TRUE(failsWith(Bound, ErrorKind::InvalidArgument, "it has no metric 'beauty'"));
  EXPECT_TRUE(failsWith(Learner.get(), ErrorKind::PeerError, "it has no metric 'beauty'"));
}

TEST_F(ToolConversation, LearnerChoosesTheSerializer) {
  auto Learner = learnerAsks({.Task = "posetrl", .Serializer = "json"});
  auto Runner = RemoteRunner::connect(Base, {.Codec = findSerializer("json").value()}, patience()).value();
  ASSERT_TRUE(succeeds(Runner->bind(bindTask(posetrlTask(), "{}").value())));
  EXPECT_TRUE(succeeds(Learner.get()));
}

TEST_F(ToolConversation, SerializerOtherThanToldIsRefusedAtBothEnds) {
  auto Learner = learnerAsks({.Task = "posetrl", .Serializer = "json"});
  const auto Runner = RemoteRunner::connect(Base, {.Codec = &defaultSerializer()}, patience());
  const auto Sentence = "the learner asks for serializer 'json', the compiler was told to use 'bitstream'";
  EXPECT_TRUE(failsWith(Runner, ErrorKind::InvalidArgument, Sentence));
  EXPECT_TRUE(failsWith(Learner.get(), ErrorKind::PeerError, Sentence));
}

TEST_F(ToolConversation, WithoutALearnerTimesOut) {
  EXPECT_TRUE(failsWith(RemoteRunner::connect(Base, {}, soon()), ErrorKind::Timeout, "nobody opened"));
}

} // namespace
} // namespace mlcb
