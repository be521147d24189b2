// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's own format: its records, what is wrong with them, and the learner's end of a conversation with a compiler that ends or is ended.
#include "Pieces.h"
#include "Tensors.h"
#include "channel/ProcessFifos.h"
#include "protocol/MlgoEnd.h"
#include "protocol/MlgoLog.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <sys/wait.h>

namespace mlcb {
namespace {

using namespace test;
using Kind = MlgoRecord::Kind;

/// As LLVM 22 writes it.
const std::string Header = R"({"features":[{"name":"size","type":"int64_t","port":0,"shape":[1]},)"
                           R"({"name":"legal","type":"int64_t","port":0,"shape":[1,2]}],)"
                           R"("advice":{"name":"choice","type":"int64_t","port":0,"shape":[1]}})";
const std::string Scored = R"({"features":[{"name":"x","type":"uint16_t","port":0,"shape":[2]}],)"
                           R"("score":{"name":"reward","type":"float","port":0,"shape":[1]}})";
const std::string TwoBytes = R"({"features":[{"name":"x","type":"int8_t","port":0,"shape":[2]}]})";

std::string question(int64_t Size, int64_t First, int64_t Second) {
  const int64_t Values[] = {Size, First, Second};
  return "{\"observation\":0}\n" + std::string(textOf(raw(Values))) + "\n";
}

/// Everything in Text, given in pieces of Step bytes.
Expected<std::vector<MlgoRecord>> readAll(std::string_view Text, size_t Step = 1 << 20) {
  MlgoDecoder Decoder;
  std::vector<MlgoRecord> Records;
  const auto Ended = takePieces(Decoder, std::as_bytes(std::span(Text)), Step, [&](MlgoRecord Next) { Records.push_back(std::move(Next)); });
  return Ended.map([&] { return std::move(Records); });
}

TEST(Mlgo, HeaderIsWrittenAsLlvmWritesIt) {
  for (const std::string &Text : {Header, Scored, TwoBytes})
    EXPECT_EQ(readMlgoHeader(Text).value().toJson(), Text);
}

TEST(Mlgo, RecordsAreReadHoweverTheyArrive) {
  const std::string Log = Header + "\n{\"context\":\"f\\n\"}\n" + question('\n', 1, 0) + question(7, 0, 1);
  for (const size_t Step : {1u, 7u, 4096u}) {
    const auto Records = readAll(Log, Step);
    ASSERT_TRUE(succeeds(Records));
    ASSERT_EQ(Records->size(), 4u);
    EXPECT_EQ((*Records)[0].What, Kind::Header);
    EXPECT_EQ((*Records)[1].Context, "f\n");
    EXPECT_EQ((*Records)[3].What, Kind::Observation);
  }
}

TEST(Mlgo, NextCompilerOfACommandMayDeclareTheSameAgain) {
  EXPECT_TRUE(succeeds(readAll(Header + "\n" + question(1, 1, 1) + Header + "\n" + question(1, 1, 1))));
  EXPECT_TRUE(isRefused(readAll(Header + "\n" + TwoBytes + "\n"), "declared again, and otherwise"));
}

struct Wrong {
  const char *Name;
  std::string Text;
  const char *Sentence;
};

void PrintTo(const Wrong &Which, std::ostream *Out) { *Out << Which.Name; }

class WrongLog : public testing::TestWithParam<Wrong> {};
INSTANTIATE_TEST_SUITE_P(
    , WrongLog,
    testing::Values(Wrong{"Empty", "", "at byte 0: the end comes before the declaration"},
                    Wrong{"Foreign",
                          "\x7f"
                          "ELF\n",
                          "at byte 0: the first line is not LLVM's declaration of features"},
                    Wrong{"NotALine", std::string(2 << 20, 'x'), "at byte 0: a line of more than 1048576 bytes"},
                    Wrong{"NoName",
                          R"({"features":[{"type":"float","shape":[1]}]})"
                          "\n",
                          "a tensor has no name"},
                    Wrong{"Type",
                          R"({"features":[{"name":"x","type":"string","shape":[1]}]})"
                          "\n",
                          "'x' is of type \"string\""},
                    Wrong{"Negative",
                          R"({"features":[{"name":"x","type":"float","shape":[-1]}]})"
                          "\n",
                          "a length of -1"},
                    Wrong{"Twice",
                          R"({"features":[{"name":"x","type":"float","shape":[]},{"name":"x","type":"float","shape":[]}]})"
                          "\n",
                          "two tensors 'x'"},
                    Wrong{"Huge",
                          R"({"features":[{"name":"x","type":"float","shape":[16777216,16777216,16777216]}]})"
                          "\n",
                          "up to 'x' take more than 67108864 bytes"},
                    Wrong{"NoEvent", TwoBytes + "\n{\"else\":1}\n", "at byte 65: expected a context, an observation or an outcome, not {\"else\":1}"},
                    Wrong{"NoJson", TwoBytes + "\nnothing\n", "not a line that is no JSON"},
                    Wrong{"Truncated", TwoBytes + "\n{\"observation\":0}\nx", "at byte 83: the end comes in the middle"},
                    Wrong{"TooLong", TwoBytes + "\n{\"observation\":0}\nxxxx\n", "at byte 83: tensors that do not end after 2 bytes"},
                    Wrong{"NoScore", TwoBytes + "\n{\"outcome\":0}\n", "the first line declares no score"},
                    Wrong{"ScoreAlone", Scored + "\n{\"outcome\":0}\n", "outcome of observation 0, which does not come before it"},
                    Wrong{"OtherScore", Scored + "\n{\"observation\":0}\nabcd\n{\"outcome\":1}\n", "outcome of observation 1"}),
    [](const auto &Info) { return Info.param.Name; });

TEST_P(WrongLog, IsOneLineWithThePosition) { EXPECT_TRUE(failsWith(readAll(GetParam().Text), ErrorKind::ProtocolError, GetParam().Sentence)); }

class MlgoLogTest : public FifoTest {
protected:
  const std::string Path = Base + ".log";

  void fill(std::string_view Text) { std::ofstream(Path) << Text; }
};

TEST_F(MlgoLogTest, LogIsReadAsItWasWritten) {
  const uint16_t X[] = {1, 65535};
  const float Reward = -0.5;
  auto Log = MlgoLogWriter::open(Path, readMlgoHeader(Scored).value()).value();
  const std::span<const std::byte> Tensors[] = {raw(X)};
  for (const char *Context : {"f", "f", "g", "f"})
    ASSERT_TRUE(succeeds(Log.write(Context, Tensors, std::as_bytes(std::span(&Reward, 1)))));
  ASSERT_TRUE(succeeds(Log.close()));
  ASSERT_TRUE(succeeds(Log.close()));

  auto Read = MlgoLogReader::open(Path).value();
  EXPECT_EQ(Read.header().toJson(), Scored);
  for (const auto &[Context, Number] : {std::pair("f", 0), {"f", 1}, {"g", 0}, {"f", 2}}) {
    const auto Entry = Read.next().value();
    ASSERT_TRUE(Entry);
    EXPECT_EQ(Entry->Context, Context);
    EXPECT_EQ(Entry->Number, Number);
    EXPECT_TRUE(std::ranges::equal(Entry->Tensors, raw(X)));
    EXPECT_EQ(std::memcmp(Entry->Score->data(), &Reward, sizeof Reward), 0);
  }
  EXPECT_FALSE(Read.next().value());
}

TEST_F(MlgoLogTest, ObservationWithoutItsOutcomeIsKept) {
  fill(Scored + "\n{\"context\":\"f\"}\n{\"observation\":0}\nabcd\n{\"observation\":1}\nefgh\n{\"outcome\":1}\n1234\n");
  auto Log = MlgoLogReader::open(Path).value();
  EXPECT_FALSE(Log.next().value()->Score);
  EXPECT_EQ(textOf(*Log.next().value()->Score), "1234");
  EXPECT_FALSE(Log.next().value());
}

TEST_F(MlgoLogTest, WrongFilesAreNamed) {
  EXPECT_TRUE(failsWith(MlgoLogReader::open(Path), ErrorKind::SystemError, Path + ": No such file"));
  fill(TwoBytes + "\n{\"observation\":0}\nx");
  auto Log = MlgoLogReader::open(Path).value();
  EXPECT_TRUE(isRefused(Log.next(), Path + ": at byte 83"));
}

TEST_F(MlgoLogTest, FullDiskIsSaid) {
  const std::byte Two[2]{};
  auto Log = MlgoLogWriter::open("/dev/full", readMlgoHeader(TwoBytes).value()).value();
  const std::span<const std::byte> Tensors[] = {Two};
  ASSERT_TRUE(succeeds(Log.write("f", Tensors, std::nullopt)));
  EXPECT_TRUE(failsWith(Log.close(), ErrorKind::SystemError, "/dev/full: No space left"));
}

TEST_F(MlgoLogTest, NothingIsWrittenBehindAGap) {
  const std::byte Two[2]{};
  auto Log = MlgoLogWriter::open("/dev/full", readMlgoHeader(TwoBytes).value()).value();
  const std::span<const std::byte> Tensors[] = {Two};
  const std::string Long(1 << 20, 'f'); // is flushed at once
  EXPECT_TRUE(failsWith(Log.write(Long, Tensors, std::nullopt), ErrorKind::SystemError, "/dev/full: No space left"));
  EXPECT_TRUE(failsWith(Log.write("g", Tensors, std::nullopt), ErrorKind::InvalidArgument, "/dev/full is closed"));
  EXPECT_TRUE(succeeds(Log.close()));
}

TEST(MlgoHeader, IsThatOfATask) {
  const auto Read = mlgoHeaderOf(smallSpec(), true).value();
  EXPECT_EQ(Read.Features.back().Name, "subsequence");
  EXPECT_EQ(Read.Features.size(), smallSpec().Task.Agents[0].Inputs.size() + 1);
  EXPECT_EQ(Read.Score->Name, "reward");
  EXPECT_TRUE(succeeds(readMlgoHeader(Read.toJson())));
}

BoundSpec choice(const std::string &Inputs) {
  return readSpec(R"({"task": "choice", "agents": [{"name": "a", "inputs": )" + Inputs +
                  R"(, "advice": {"kind": "argmax", "name": "choice", "choices": 2}}]})")
      .value();
}

const std::string SizeAndMask = R"([{"name": "legal", "dtype": "int8", "shape": [2], "role": "mask"}, {"name": "size", "dtype": "int64"}])";

/// A process that says what a test has it say, reads an answer where it is given time, and ends.
class MlgoEndTest : public FifoTest {
protected:
  ~MlgoEndTest() override {
    if (Pid > 0) {
      ::kill(Pid, SIGKILL);
      ::waitpid(Pid, nullptr, 0);
    }
  }

  /// In LLVM's order: .in is opened first.
  void start(std::string_view Says, int64_t Answers = 0) {
    Pid = ::fork();
    if (Pid != 0)
      return;
    const int In = ::open((Base + ".in").c_str(), O_RDONLY), Out = ::open((Base + ".out").c_str(), O_WRONLY);
    int64_t Got = 0;
    bool Well = ::write(Out, Says.data(), Says.size()) == static_cast<ssize_t>(Says.size());
    for (; Answers > 0; --Answers)
      Well = ::read(In, &Got, sizeof Got) == sizeof Got && Well;
    ::_exit(Well ? static_cast<int>(Got) : 99);
  }

  MlgoEnd end(const std::string &Inputs = SizeAndMask) { return MlgoEnd(processFifos(Base, Pid).value(), choice(Inputs)); }

  int status() {
    int Status = -1;
    ::waitpid(std::exchange(Pid, -1), &Status, 0);
    return WEXITSTATUS(Status);
  }

  pid_t Pid = -1;
};

TEST_F(MlgoEndTest, QuestionIsAnsweredAndTheEndOfTheProcessIsTheEnd) {
  start(Header + "\n{\"context\":\"f\"}\n" + question(7, 0, 1), 1);
  auto End = end();
  const auto Got = End.receive(patience());
  ASSERT_TRUE(succeeds(Got));
  EXPECT_EQ(Got->Text, "f");
  EXPECT_EQ(Got->Specs[0].Name, "legal");
  EXPECT_EQ(std::vector(Got->Views[0].Bytes.begin(), Got->Views[0].Bytes.end()), bytes({0, 1}));
  EXPECT_EQ(std::to_integer<int>(Got->Views[1].Bytes[0]), 7);
  EXPECT_TRUE(failsWith(End.advise(int64_t(0), patience()), ErrorKind::InvalidArgument, "advice 0 for choice is masked"));
  EXPECT_TRUE(failsWith(End.advise(0.5, patience()), ErrorKind::InvalidArgument, "asks for an index"));
  ASSERT_TRUE(succeeds(End.advise(int64_t(1), patience())));
  EXPECT_TRUE(failsWith(End.advise(int64_t(1), patience()), ErrorKind::InvalidArgument, "no observation asks"));
  EXPECT_EQ(End.receive(patience()).value().Kind, FrameKind::Bye);
  EXPECT_EQ(status(), 1);
}

TEST_F(MlgoEndTest, ProcessThatOpensNothingIsTheEnd) {
  Pid = ::fork();
  if (Pid == 0)
    ::_exit(0);
  EXPECT_EQ(end().receive(patience()).value().Kind, FrameKind::Bye);
}

TEST_F(MlgoEndTest, WhatWasSaidBeforeTheEndIsHeard) {
  start(Header + "\n" + question(7, 1, 1));
  auto End = end();
  siginfo_t Ended;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(Pid), &Ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(End.receive(patience()).value().Kind, FrameKind::Observation);
  ASSERT_TRUE(succeeds(End.advise(int64_t(1), patience())));
  EXPECT_EQ(End.receive(patience()).value().Kind, FrameKind::Bye);
}

TEST_F(MlgoEndTest, EndInMidSentenceIsALoss) {
  start(Header + "\n{\"observation\":0}\nhalf");
  EXPECT_TRUE(failsWith(end().receive(patience()), ErrorKind::PeerGone, "the compiler ended in mid-sentence: at byte"));
}

TEST_F(MlgoEndTest, ContextAloneIsNothingToHear) {
  start(Header + "\n{\"context\":\"f\"}\n", 1);
  auto End = end();
  EXPECT_FALSE(End.readable(after(0.2)).value());
  EXPECT_TRUE(failsWith(End.receive(soon()), ErrorKind::Timeout, "did not ask in time"));
  ::kill(Pid, SIGKILL);
  EXPECT_TRUE(End.readable(patience()).value());
  EXPECT_EQ(End.receive(patience()).value().Kind, FrameKind::Bye);
}

TEST_F(MlgoEndTest, MaskThatDoesNotComeBarsNothingAndWhatIsEmptyNeedNotCome) {
  start(Header + "\n" + question(7, 0, 1), 1);
  auto End = end(R"([{"name": "size", "dtype": "int64", "shape": [1]}, {"name": "legal", "dtype": "int64", "shape": [2]},
                     {"name": "mask", "dtype": "int8", "shape": [2], "role": "mask"},
                     {"name": "embedding", "dtype": "float32", "shape": [0]}])");
  ASSERT_TRUE(succeeds(End.receive(patience())));
  EXPECT_TRUE(succeeds(End.advise(int64_t(0), patience())));
}

TEST_F(MlgoEndTest, OtherFeaturesAreASpecMismatch) {
  start(Header + "\n", 1);
  auto End = end(R"([{"name": "size", "dtype": "float32"}, {"name": "legal", "dtype": "int64", "shape": [2]}])");
  for (int Call = 0; Call < 2; ++Call)
    EXPECT_TRUE(failsWith(End.receive(patience()), ErrorKind::SpecMismatch, "choice/size: compiler sends int64[1], this build expects float32[]"));
  EXPECT_TRUE(End.readable(soon()).value());
}

TEST_F(MlgoEndTest, QuestionBehindAnErrorIsNotHeard) {
  start(Header + "\n" + question(7, 1, 1), 1);
  auto End = end(R"([{"name": "size", "dtype": "float32"}, {"name": "legal", "dtype": "int64", "shape": [2]}])");
  for (int Call = 0; Call < 2; ++Call)
    EXPECT_TRUE(failsWith(End.receive(patience()), ErrorKind::SpecMismatch, "choice/size"));
  EXPECT_TRUE(failsWith(End.advise(int64_t(1), patience()), ErrorKind::InvalidArgument, "no observation asks"));
}

TEST_F(MlgoEndTest, CompilerThatAsksForAValueGetsNoIndex) {
  std::string Other = Header;
  Other.replace(Other.rfind("int64_t"), 7, "float");
  start(Other + "\n", 1);
  EXPECT_TRUE(failsWith(end().receive(patience()), ErrorKind::SpecMismatch,
                        "choice: compiler asks for advice 'choice' of 1 float32, this build gives an index"));
}

TEST_F(MlgoEndTest, ValueThatIsNaNIsRefusedAndAnotherMayBeGiven) {
  start(R"({"features":[{"name":"size","type":"int64_t","port":0,"shape":[1]}],)"
        R"("advice":{"name":"cost","type":"float","port":0,"shape":[1]}})"
        "\n{\"observation\":0}\n12345678\n");
  MlgoEnd End(processFifos(Base, Pid).value(), readSpec(R"({"task": "cost", "agents": [{"name": "a", "inputs": [{"name": "size", "dtype": "int64"}],)"
                                                        R"("advice": {"kind": "value", "name": "cost"}}]})")
                                                   .value());
  ASSERT_TRUE(succeeds(End.receive(patience())));
  EXPECT_TRUE(failsWith(End.advise(std::numeric_limits<double>::quiet_NaN(), patience()), ErrorKind::InvalidArgument, "advice for cost is NaN"));
  EXPECT_FALSE(failsWith(End.advise(0.5, patience()), ErrorKind::InvalidArgument, ""));
}

TEST_F(MlgoEndTest, NonsenseIsTheEnd) {
  start("GET / HTTP/1.1\n", 1);
  auto End = end();
  EXPECT_TRUE(isRefused(End.receive(patience()), "at byte 0: the first line is not"));
  EXPECT_EQ(End.fileno(), -1);
}

TEST_F(MlgoEndTest, ProcessThatIsNoneIsNamed) {
  EXPECT_TRUE(failsWith(processFifos(Base, 1 << 30), ErrorKind::SystemError, "process 1073741824"));
  EXPECT_TRUE(failsWith(processFifos(Base + "x", ::getpid()), ErrorKind::SystemError, "No such file"));
}

} // namespace
} // namespace mlcb
