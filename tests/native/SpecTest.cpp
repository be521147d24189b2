// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One declaration, bound with parameters: defaults, refusals, digests, and the sentence about two that differ.
#include "Support.h"
#include "spec/SpecJson.h"
#include "spec/Tasks.h"

#include <functional>
#include <set>

namespace mlcb {
namespace {

using namespace test;

Expected<BoundSpec> bindPosetrl(std::string_view Parameters) { return bindTask(posetrlTask(), Parameters); }

std::string digestWith(std::string_view Parameters) { return bindPosetrl(Parameters).value().Digest; }

/// The digest of posetrl, declared a little differently.
std::string digestAfter(const std::function<void(TaskSpec &)> &Change) {
  TaskSpec Task = posetrlTask();
  Change(Task);
  return bindTask(Task, "{}").value().Digest;
}

TEST(Spec, ShapeIsAllowedDimensionByDimension) {
  const TensorSpec Pairs{"pairs", DType::Int16, {{Dim::Kind::AtMost, 600, {}}, {Dim::Kind::Fixed, 2, {}}}, 0, 0, "", TensorRole::Input};
  for (const std::vector<int64_t> &Shape : {std::vector<int64_t>{0, 2}, {600, 2}})
    EXPECT_TRUE(Pairs.allows(Shape));
  for (const std::vector<int64_t> &Shape : {std::vector<int64_t>{1200, 1}, {601, 2}, {-1, 2}, {600}, {600, 2, 1}, {}})
    EXPECT_FALSE(Pairs.allows(Shape));
}

TEST(Spec, AbsentParametersTakeTheirDefaults) {
  const Json Parameters = parseJson(bindPosetrl(R"({"max_steps": 3})").value().Parameters);
  EXPECT_EQ(Parameters.size(), posetrlTask().Params.size());
  for (const ParamSpec &Param : posetrlTask().Params) {
    const Json Expected = Param.Name == "max_steps" ? Json(3) : parseJson(Param.Default);
    EXPECT_EQ(member(Parameters, Param.Name), Expected) << Param.Name;
  }
}

TEST(Spec, ParametersGiveShapesTheirSizes) {
  const BoundSpec Spec = smallSpec();
  const AgentSpec &Agent = Spec.Task.Agents[0];
  const auto shapeOf = [&](posetrl::orderer Input) { return Agent.Inputs[static_cast<size_t>(Input)].maxShape(); };
  EXPECT_EQ(shapeOf(posetrl::orderer::embedding), std::vector<int64_t>{2});
  EXPECT_EQ(shapeOf(posetrl::orderer::action_mask), std::vector<int64_t>{3});
  EXPECT_EQ(shapeOf(posetrl::orderer::progress), std::vector<int64_t>{});
  EXPECT_EQ(Agent.Advice.Choices.Size, 3);
  EXPECT_EQ(Agent.maskIndex(), static_cast<int>(posetrl::orderer::action_mask));
}

TEST(Spec, UnknownParameterIsNamedBesideTheKnownOnes) {
  const auto Result = bindPosetrl(R"({"max_step": 3})");
  EXPECT_TRUE(failsWith(Result, ErrorKind::InvalidArgument, "posetrl: unknown parameter 'max_step'"));
  EXPECT_TRUE(failsWith(Result, ErrorKind::InvalidArgument, "max_steps"));
}

TEST(Spec, ParameterOfAnotherTypeIsRefused) {
  EXPECT_TRUE(failsWith(bindPosetrl(R"({"max_steps": "many"})"), ErrorKind::InvalidArgument, R"('max_steps' is "many", expected an integer)"));
  EXPECT_TRUE(failsWith(bindPosetrl(R"({"max_steps": 1.5})"), ErrorKind::InvalidArgument, "expected an integer"));
  EXPECT_TRUE(failsWith(bindPosetrl(R"({"actions": "all"})"), ErrorKind::InvalidArgument, "expected an array"));
}

TEST(Spec, ParametersThatAreNoObjectAreRefused) {
  for (const char *Text : {"[]", "3", "{", "{\"max_steps\": }"})
    EXPECT_TRUE(failsWith(bindPosetrl(Text), ErrorKind::InvalidArgument, "not a JSON object")) << Text;
}

TEST(Spec, AbsurdDimensionIsRefused) {
  for (const char *Size : {"-1", "16777217", "9223372036854775807"})
    EXPECT_TRUE(failsWith(bindPosetrl("{\"dimension\": " + std::string(Size) + "}"), ErrorKind::InvalidArgument, "gives a dimension of")) << Size;
}

TEST(Spec, TensorsThatWouldNotFitAFrameAreRefused) {
  EXPECT_TRUE(failsWith(bindPosetrl(R"({"dimension": 16777216})"), ErrorKind::InvalidArgument, "'embedding'"));
}

TEST(Spec, OrderAndSpacingOfParametersDoNotChangeTheDigest) {
  EXPECT_EQ(digestWith(R"({"max_steps":4,"actions":["a"]})"), digestWith(R"({ "actions": ["a"], "max_steps": 4 })"));
  EXPECT_EQ(digestWith(R"({"max_steps": 15})"), digestWith("{}"));
}

TEST(Spec, EveryOtherParameterValueGivesAnotherDigest) {
  const std::set<std::string> Digests{
      digestWith("{}"),
      digestWith(R"({"actions": ["a", "b"]})"),
      digestWith(R"({"actions": ["b", "a"]})"),
      digestWith(R"({"start": "Oz"})"),
      digestWith(R"({"max_steps": 14})"),
      digestWith(R"({"unique": true})"),
      digestWith(R"({"vocabulary": "0123"})"),
      digestWith(R"({"dimension": 75})"),
  };
  EXPECT_EQ(Digests.size(), 8u);
}

TEST(Spec, EveryOtherDeclarationGivesAnotherDigest) {
  const std::set<std::string> Digests{
      digestWith("{}"),
      digestAfter([](TaskSpec &T) { T.Name = "other"; }),
      digestAfter([](TaskSpec &T) { T.Agents[0].Name = "other"; }),
      digestAfter([](TaskSpec &T) { T.Agents[0].Advice.Name = "other"; }),
      digestAfter([](TaskSpec &T) { T.Agents[0].Inputs[0].Name = "other"; }),
      digestAfter([](TaskSpec &T) { T.Agents[0].Inputs[0].Type = DType::Float64; }),
      digestAfter([](TaskSpec &T) { T.Agents[0].Inputs[0].High = 1; }),
      digestAfter([](TaskSpec &T) { T.Agents[0].Inputs[0].Shape.push_back({Dim::Kind::Fixed, 1, {}}); }),
      digestAfter([](TaskSpec &T) { std::swap(T.Agents[0].Inputs[0], T.Agents[0].Inputs[1]); }),
      digestAfter([](TaskSpec &T) { T.Metrics.pop_back(); }),
  };
  EXPECT_EQ(Digests.size(), 10u);
}

TEST(Spec, FixedAndVaryingDimensionsOfOneSizeHaveDifferentDigests) {
  EXPECT_NE(digestAfter([](TaskSpec &T) { T.Agents[0].Inputs[1].Shape[0].How = Dim::Kind::AtMost; }), digestWith("{}"));
}

TEST(Spec, DocumentationIsNoPartOfTheDigest) {
  EXPECT_EQ(digestAfter([](TaskSpec &T) { T.Doc = T.Params[0].Doc = T.Agents[0].Inputs[0].Doc = "better said"; }), digestWith("{}"));
}

TEST(Spec, AddedMetricIsNoPartOfTheDigestAndNoMismatch) {
  const TensorSpec Added{"younger", DType::Float64, {}, 0, 0, "", TensorRole::AddedMetric};
  const auto Add = [&](TaskSpec &Task) { Task.Metrics.push_back(Added); };
  EXPECT_EQ(digestAfter(Add), digestWith("{}"));
  TaskSpec Task = posetrlTask();
  Add(Task);
  const BoundSpec Young = bindTask(Task, R"({"max_steps": 3})").value(), Old = bindPosetrl("{}").value();
  EXPECT_EQ(member(member(parseJson(Young.toJson()), "metrics").back(), "name"), "younger");
  for (const std::string &Sentence : {describeMismatch(Young.toJson(), Old.toJson()), describeMismatch(Old.toJson(), Young.toJson())})
    EXPECT_NE(Sentence.find("parameter 'max_steps'"), std::string::npos) << Sentence;
}

TEST(Spec, BoundSpecSurvivesItsJson) {
  const BoundSpec Spec = smallSpec();
  const auto Again = rebind(Spec.toJson());
  ASSERT_TRUE(succeeds(Again));
  EXPECT_EQ(Again->Digest, Spec.Digest);
  EXPECT_EQ(Again->toJson(), Spec.toJson());
}

TEST(Spec, ForeignBoundSpecIsAMismatch) {
  Json Changed = parseJson(smallSpec().toJson());
  Changed["llvm"] = 10;
  Changed["digest"] = "00";
  EXPECT_TRUE(failsWith(rebind(Changed.dump()), ErrorKind::SpecMismatch, "posetrl: compiler has llvm 10"));
  EXPECT_TRUE(failsWith(rebind(R"({"task": "poset"})"), ErrorKind::SpecMismatch, "task 'poset' is not one"));
  EXPECT_TRUE(failsWith(rebind("no JSON"), ErrorKind::SpecMismatch, "task '' is not one"));
}

TEST(Spec, MismatchNamesTensorAndBothShapes) {
  const std::string Short = bindPosetrl(R"({"dimension": 75})").value().toJson();
  const std::string Long = bindPosetrl("{}").value().toJson();
  EXPECT_EQ(describeMismatch(Short, Long), "posetrl/embedding: compiler sends float32[75], this build expects float32[300]");
}

TEST(Spec, MismatchSurvivesWhatIsNoSpec) {
  const std::string Spec = smallSpec().toJson();
  for (const char *Text : {"", "3", "{}", R"({"task":"posetrl"})", R"({"task":"posetrl","agents":[1],"metrics":{}})"}) {
    EXPECT_FALSE(describeMismatch(Text, Spec).empty()) << Text;
    EXPECT_FALSE(describeMismatch(Spec, Text).empty()) << Text;
  }
}

} // namespace
} // namespace mlcb
