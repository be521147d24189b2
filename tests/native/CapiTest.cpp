// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C face: a learner answers it, and everything that a caller gets wrong is a status and a sentence.
#include "OwnTasks.h"
#include "Support.h"
#include "capi/mlcb.h"
#include "channel/Fifo.h"
#include "protocol/LearnerEnd.h"

#include <cstring>
#include <future>

namespace mlcb {
namespace {

using namespace test;

struct Close {
  void operator()(mlcb_runner *Runner) const { mlcb_close(Runner); }
};
using Runner = std::unique_ptr<mlcb_runner, Close>;

Runner opened(const char *Uri) { return Runner(mlcb_open(Uri)); }

/// The status, and a part of what mlcb_error() says of it.
testing::AssertionResult fails(const Runner &R, mlcb_status Got, mlcb_status Expected, const char *Part) {
  if (Got != Expected || !std::strstr(mlcb_error(R.get()), Part))
    return testing::AssertionFailure() << "status " << Got << ": " << mlcb_error(R.get());
  return testing::AssertionSuccess();
}

TEST(Capi, LibraryIsOfTheHeadersVersion) { EXPECT_EQ(mlcb_api_version(), MLCB_API_VERSION); }

TEST(Capi, RunnerThatWasNotOpenedSaysWhyAtEveryCall) {
  const Runner R = opened("carrier-pigeon:x");
  int64_t Index = 7;
  EXPECT_STRNE(mlcb_error(R.get()), "");
  EXPECT_FALSE(mlcb_decides(R.get()));
  EXPECT_TRUE(fails(R, mlcb_bind(R.get(), FirstAndSecond), MLCB_INVALID_ARGUMENT, "unknown scheme"));
  EXPECT_EQ(mlcb_tensor(R.get(), 0, "x", MLCB_FLOAT32), nullptr);
  EXPECT_TRUE(fails(R, mlcb_choose(R.get(), 0, &Index), MLCB_INVALID_ARGUMENT, "unknown scheme"));
  EXPECT_EQ(Index, 7);
  EXPECT_STREQ(mlcb_task(R.get()), "");
}

TEST(Capi, WhatTheCallerGetsWrongIsNamed) {
  const Runner R = opened("default:");
  int64_t Index = 0, Long[] = {4};
  double Value = 0;
  EXPECT_TRUE(fails(R, mlcb_choose(R.get(), 0, &Index), MLCB_INVALID_ARGUMENT, "not bound"));
  EXPECT_TRUE(fails(R, mlcb_bind(R.get(), nullptr), MLCB_INVALID_ARGUMENT, "not a JSON object"));
  EXPECT_TRUE(fails(R, mlcb_bind_task(R.get(), "three", nullptr), MLCB_INVALID_ARGUMENT, "task 'three'"));
  ASSERT_EQ(mlcb_bind(R.get(), FirstAndSecond), MLCB_OK);
  EXPECT_TRUE(fails(R, mlcb_bind(R.get(), FirstAndSecond), MLCB_INVALID_ARGUMENT, "bound already"));
  EXPECT_FALSE(mlcb_decides(R.get()));
  EXPECT_EQ(mlcb_tensor(R.get(), 0, "x", MLCB_FLOAT64), nullptr);
  EXPECT_STREQ(mlcb_error(R.get()), "'x' is of type float32, not the one asked for");
  EXPECT_EQ(mlcb_tensor(R.get(), 0, "z", MLCB_FLOAT32), nullptr);
  EXPECT_STREQ(mlcb_error(R.get()), "the task declares no 'z' here");
  for (const auto Type : {MLCB_INT8, static_cast<mlcb_dtype>(DType::String)}) {
    EXPECT_EQ(mlcb_tensor(R.get(), 0, "code", Type), nullptr);
    EXPECT_STREQ(mlcb_error(R.get()), "'code' is of type string: use mlcb_text");
  }
  EXPECT_EQ(mlcb_metric(R.get(), nullptr, MLCB_INT64), nullptr);
  EXPECT_TRUE(fails(R, mlcb_resize(R.get(), 0, "x", Long, 1), MLCB_INVALID_ARGUMENT, "cannot have the shape"));
  EXPECT_TRUE(fails(R, mlcb_resize(R.get(), 0, "x", nullptr, 1), MLCB_INVALID_ARGUMENT, "no shape: it is NULL"));
  EXPECT_TRUE(fails(R, mlcb_choose(R.get(), 0, nullptr), MLCB_INVALID_ARGUMENT, "no place for the advice"));
  EXPECT_TRUE(fails(R, mlcb_value(R.get(), 1, nullptr), MLCB_INVALID_ARGUMENT, "no place for the advice"));
  EXPECT_TRUE(fails(R, mlcb_text(R.get(), 0, "x", "a"), MLCB_INVALID_ARGUMENT, "not a string"));
  EXPECT_TRUE(fails(R, mlcb_choose(R.get(), 2, &Index), MLCB_INVALID_ARGUMENT, "no agent 2"));
  EXPECT_TRUE(fails(R, mlcb_choose(R.get(), 1, &Index), MLCB_INVALID_ARGUMENT, "use mlcb_value"));
  EXPECT_TRUE(fails(R, mlcb_value(R.get(), 0, &Value), MLCB_INVALID_ARGUMENT, "use mlcb_choose"));
  EXPECT_TRUE(fails(R, mlcb_end(R.get(), static_cast<mlcb_end_reason>(9), 0), MLCB_INVALID_ARGUMENT, "no reason 9"));
  EXPECT_TRUE(fails(R, mlcb_end(R.get(), static_cast<mlcb_end_reason>(256), 0), MLCB_INVALID_ARGUMENT, "no reason 256"));
}

TEST(Capi, HeuristicOfTheCompilerIsNoFailureAndLeavesTheAnswerAsItIs) {
  const Runner R = opened("default:");
  ASSERT_EQ(mlcb_bind(R.get(), FirstAndSecond), MLCB_OK);
  int64_t Index = 7;
  double Value = 2.5;
  EXPECT_TRUE(fails(R, mlcb_choose(R.get(), 0, &Index), MLCB_NO_ADVICE, "the compiler's own heuristic"));
  EXPECT_EQ(mlcb_value(R.get(), 1, &Value), MLCB_NO_ADVICE);
  EXPECT_EQ(Index, 7);
  EXPECT_EQ(Value, 2.5);
}

TEST(Capi, TaskOfThisLibraryIsBoundByItsName) {
  const Runner R = opened("default:");
  ASSERT_EQ(mlcb_bind_task(R.get(), "posetrl", R"({"dimension": 2})"), MLCB_OK);
  EXPECT_NE(mlcb_tensor(R.get(), 0, "embedding", MLCB_FLOAT32), nullptr);
}

class CapiConversation : public FifoTest {};

TEST_F(CapiConversation, LearnerThatLeavesIsAStatus) {
  auto Learner = std::async(std::launch::async, [&] {
    LearnerEnd End(Fifo::open(Base, FifoEnd::Learner).value().connect(patience()).value());
    return End.hello({}, patience());
  });
  const Runner R = opened(("pipe:" + Base).c_str());
  ASSERT_EQ(mlcb_bind(R.get(), FirstAndSecond), MLCB_OK) << mlcb_error(R.get());
  EXPECT_TRUE(succeeds(Learner.get()));
  int64_t Index = 7;
  EXPECT_TRUE(fails(R, mlcb_choose(R.get(), 0, &Index), MLCB_PEER_GONE, "closed"));
  EXPECT_EQ(mlcb_choose(R.get(), 0, &Index), MLCB_PEER_GONE);
  EXPECT_EQ(mlcb_end(R.get(), MLCB_HORIZON, 0), MLCB_PEER_GONE);
  EXPECT_EQ(Index, 7);
}

TEST_F(CapiConversation, AsksALearnerForEveryAgent) {
  auto Learner = std::async(std::launch::async, [&] {
    LearnerEnd End(Fifo::open(Base, FifoEnd::Learner).value().connect(patience()).value());
    EXPECT_TRUE(succeeds(End.hello({.Metrics = {"cycles"}}, patience())));
    const auto First = End.receive(patience()).value();
    EXPECT_EQ(First.Views[0].Shape, std::vector<int64_t>{2});
    EXPECT_EQ(std::memcmp(First.Views[1].Bytes.data(), "ret", 3), 0);
    EXPECT_TRUE(succeeds(End.advise(int64_t(1), patience())));
    EXPECT_EQ(End.receive(patience()).value().Agent, 1u);
    EXPECT_TRUE(succeeds(End.advise(2.5, patience())));
    EXPECT_EQ(End.receive(patience()).value().Reason, EndReason::Stopped);
    EXPECT_EQ(End.receive(patience()).value().Kind, FrameKind::Bye);
  });
  {
    const Runner R = opened(("pipe:" + Base).c_str());
    ASSERT_EQ(mlcb_bind(R.get(), FirstAndSecond), MLCB_OK) << mlcb_error(R.get());
    EXPECT_STREQ(mlcb_parameters(R.get()), "{}");
    EXPECT_FALSE(mlcb_wants(R.get(), "size"));
    EXPECT_TRUE(mlcb_wants(R.get(), "cycles"));
    *static_cast<double *>(mlcb_metric(R.get(), "cycles", MLCB_FLOAT64)) = 3;
    *static_cast<bool *>(mlcb_tensor(R.get(), 1, "y", MLCB_BOOL)) = true;
    const int64_t Shape[] = {2};
    int64_t Index = -1;
    double Value = -1;
    EXPECT_EQ(mlcb_resize(R.get(), 0, "x", Shape, 1), MLCB_OK);
    EXPECT_EQ(mlcb_text(R.get(), 0, "code", "ret"), MLCB_OK);
    EXPECT_EQ(mlcb_choose(R.get(), 0, &Index), MLCB_OK);
    EXPECT_EQ(Index, 1);
    EXPECT_EQ(mlcb_value(R.get(), 1, &Value), MLCB_OK);
    EXPECT_EQ(Value, 2.5);
    EXPECT_EQ(mlcb_end(R.get(), MLCB_STOPPED, 0), MLCB_OK);
  }
  Learner.get();
}

} // namespace
} // namespace mlcb
