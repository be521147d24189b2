// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A task that its compiler declares itself: what may be declared, what is refused, and a learner that never heard of it.
#include "OwnTasks.h"
#include "Support.h"
#include "channel/Fifo.h"
#include "protocol/LearnerEnd.h"
#include "runner/RemoteRunner.h"
#include "spec/Json.h"

#include <future>

namespace mlcb {
namespace {

using namespace test;

/// The declaration with one value changed, named by its JSON pointer.
std::string unrollWith(const char *Pointer, const Json &Value) {
  Json Changed = parseJson(Unroll);
  Changed[Json::json_pointer(Pointer)] = Value;
  return Changed.dump();
}

TEST(OwnTask, IsReadFromItsJson) {
  const BoundSpec Spec = readSpec(std::string(Unroll)).value(); // the text is gone, the names are not
  EXPECT_EQ(Spec.Task.Name, "unroll");
  const AgentSpec &Agent = Spec.Task.Agents.at(0);
  EXPECT_EQ(Agent.Inputs.at(1).maxShape(), (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(Agent.Inputs.at(0).maxShape(), std::vector<int64_t>{});
  EXPECT_EQ(Agent.maskIndex(), 2);
  EXPECT_EQ(Agent.Advice.Choices.Size, 3);
  EXPECT_EQ(Spec.Task.Metrics.at(0).Name, "cycles");
  EXPECT_EQ(Spec.Parameters, "{}");
}

TEST(OwnTask, SurvivesItsJson) {
  const BoundSpec Spec = readSpec(Unroll).value();
  const auto Again = readSpec(Spec.toJson());
  ASSERT_TRUE(succeeds(Again));
  EXPECT_EQ(Again->toJson(), Spec.toJson());
}

TEST(OwnTask, HasItsOwnDigest) {
  const std::string Digest = readSpec(Unroll).value().Digest;
  EXPECT_NE(readSpec(unrollWith("/parameters", {{"factors", {1, 2, 4}}})).value().Digest, Digest);
  EXPECT_EQ(readSpec(unrollWith("/doc", "better said")).value().Digest, Digest);
  EXPECT_TRUE(failsWith(readSpec(unrollWith("/digest", "00")), ErrorKind::SpecMismatch, "its digest is \"00\""));
}

TEST(OwnTask, MayDeclareTheAnswerOfItsHeuristic) {
  const BoundSpec Spec = readSpec(unrollWith("/agents/0/inputs/0/role", "heuristic")).value();
  EXPECT_EQ(Spec.Task.Agents.at(0).Inputs.at(0).Role, TensorRole::Heuristic);
  EXPECT_EQ(readSpec(Spec.toJson()).value().toJson(), Spec.toJson());
  EXPECT_EQ(Spec.Digest, readSpec(Unroll).value().Digest);
}

TEST(OwnTask, OfThisBuildIsWhatThisBuildDeclares) {
  EXPECT_EQ(readSpec(smallSpec().toJson()).value().Digest, smallSpec().Digest);
  EXPECT_TRUE(failsWith(readSpec(unrollWith("/task", "posetrl")), ErrorKind::SpecMismatch, "posetrl"));
}

TEST(OwnTask, DeclaredWronglyIsRefusedWithWhatIsExpected) {
  const auto refuses = [](const char *Pointer, const Json &Value, std::string_view Part) {
    return failsWith(readSpec(unrollWith(Pointer, Value)), ErrorKind::InvalidArgument, Part);
  };
  EXPECT_TRUE(failsWith(readSpec("[]"), ErrorKind::InvalidArgument, "not a JSON object"));
  EXPECT_TRUE(failsWith(readSpec("{}"), ErrorKind::InvalidArgument, "'task' wrongly"));
  EXPECT_TRUE(refuses("/agents", Json::array(), "1 to 256"));
  EXPECT_TRUE(refuses("/agents", 3, "expected a list"));
  EXPECT_TRUE(refuses("/agents/0/name", "", "expected a name"));
  EXPECT_TRUE(refuses("/agents/0/advice", nullptr, "kind 'argmax' or 'value'"));
  EXPECT_TRUE(refuses("/agents/0/advice/choices", 0, "1 at least"));
  EXPECT_TRUE(refuses("/agents/0/advice/choices", 4, "one element for each choice"));
  EXPECT_TRUE(refuses("/agents/0/inputs/0/name", "body", "no two of one name"));
  EXPECT_TRUE(refuses("/agents/0/inputs/0/dtype", "float16", "'trip_count' wrongly: expected a dtype"));
  EXPECT_TRUE(refuses("/agents/0/inputs/0/role", "metric", "the role 'input', 'heuristic' or 'mask'"));
  EXPECT_TRUE(refuses("/agents/0/inputs/1/dtype", "string", "for it is a string"));
  EXPECT_TRUE(refuses("/agents/0/inputs/1/shape/1", -1, "not -1"));
  EXPECT_TRUE(refuses("/agents/0/inputs/1/shape/1", 1 << 24, "exceed"));
  EXPECT_TRUE(refuses("/agents/0/inputs/1/high", "much", "a number"));
  EXPECT_TRUE(refuses("/metrics/0/shape", {2}, "one number"));
  EXPECT_TRUE(refuses("/metrics/0/name", "body", "travel together"));
  EXPECT_TRUE(refuses("/parameters", 3, "expected a JSON object"));
}

/// A list of objects that differ in their names.
std::string named(size_t Count, const std::string &Rest) {
  std::string List;
  for (size_t I = 0; I < Count; ++I)
    List += (I ? R"(,{"name":")" : R"([{"name":")") + std::to_string(I) + "\"," + Rest + "}";
  return List + "]";
}

TEST(OwnTask, OfBillionsOfPairsOfNamesTakesNoLongerThanItsText) {
  const std::string Agents = named(100'000, R"("advice":{})"), Metrics = named(40'000, R"("dtype":"int8")");
  EXPECT_TRUE(failsWith(readSpec(R"({"task":"hostile","agents":)" + Agents + R"(,"metrics":)" + Metrics + "}"), ErrorKind::InvalidArgument,
                        "'agents' wrongly: expected 1 to 256"));
}

TEST(OwnTask, NestedAsDeepAsIsAllowedIsRead) {
  const auto nested = [](size_t Levels) { return "[" + std::string(Levels - 1, '[') + R"("]\"]")" + std::string(Levels - 1, ']') + "]"; };
  EXPECT_FALSE(parseJson(nested(MaxJsonDepth)).is_discarded());
  EXPECT_TRUE(parseJson(nested(MaxJsonDepth + 1)).is_discarded());
}

TEST(OwnTask, NestedWithoutEndIsRefused) {
  const std::string Deep = R"({"parameters": )" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  EXPECT_TRUE(failsWith(readSpec(Deep), ErrorKind::InvalidArgument, "not a JSON object"));
}

class OwnTaskConversation : public FifoTest {};

TEST_F(OwnTaskConversation, IsOfALearnerThatTakesAny) {
  auto Asked = std::async(std::launch::async, [&] {
    LearnerEnd Learner(Fifo::open(Base, FifoEnd::Learner).value().connect(patience()).value());
    EXPECT_TRUE(succeeds(Learner.hello({.Metrics = {"cycles"}}, patience())));
    return Learner;
  });
  const auto Runner = RemoteRunner::connect(Base, {}, patience()).value();
  EXPECT_EQ(Runner->task(), "");
  ASSERT_TRUE(succeeds(Runner->bind(readSpec(Unroll).value())));
  LearnerEnd Learner = Asked.get();
  EXPECT_EQ(Learner.spec().toJson(), Runner->spec().toJson());

  Runner->tensor<int64_t>(0)[0] = 12;
  Runner->resize<float>(1, std::vector<int64_t>{1, 2});
  Runner->tensor<int8_t>(2)[1] = 1;
  Runner->metric<double>(0) = 0.5;
  auto Advised = std::async(std::launch::async, [&] { return Runner->evaluate<int64_t>(); });
  const auto Got = Learner.receive(patience());
  ASSERT_TRUE(succeeds(Got));
  EXPECT_EQ(Got->Views[1].Shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(Got->Specs.back().Name, "cycles");
  EXPECT_TRUE(failsWith(Learner.advise(int64_t(0), patience()), ErrorKind::InvalidArgument, "masked"));
  ASSERT_TRUE(succeeds(Learner.advise(int64_t(1), patience())));
  EXPECT_EQ(Advised.get().value(), 1);
}

TEST(OwnTask, DeclaredWronglyIsRefusedByTheLearner) {
  Ends Pair;
  Framed Compiler(Pair.theirs());
  LearnerEnd Learner(Pair.ours());
  ASSERT_TRUE(succeeds(Compiler.send(FrameKind::Hello, bytesOf(unrollWith("/agents", 3)), patience())));
  EXPECT_TRUE(failsWith(Learner.hello({}, patience()), ErrorKind::InvalidArgument, "expected a list"));
  EXPECT_TRUE(succeeds(Compiler.receive(patience())));
  EXPECT_TRUE(failsWith(Compiler.receive(patience()), ErrorKind::PeerError, "expected a list"));
}

} // namespace
} // namespace mlcb
