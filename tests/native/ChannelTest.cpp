// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sockets, pipes, FIFOs, shared memory and gRPC: bytes in order, and the end of every wait.
#include "Links.h"
#include "channel/Fifo.h"

#include <csignal>
#include <fstream>
#include <sys/wait.h>
#include <thread>

namespace mlcb {
namespace {

using namespace test;

struct Kind {
  const char *Name;
  Link (*connect)();
};

void PrintTo(const Kind &Which, std::ostream *Out) { *Out << Which.Name; }

/// Properties of every kind of channel.
class AnyChannel : public testing::TestWithParam<Kind> {
protected:
  Link Pair = GetParam().connect();
  std::byte One[1];
};
INSTANTIATE_TEST_SUITE_P(, AnyChannel, testing::Values(Kind{"Socket", sockets}, Kind{"Pipe", pipes}, Kind{"Shm", shm}, Kind{"Grpc", grpc}),
                         [](const auto &Info) { return Info.param.Name; });

/// Those whose end is known at once, and whose ends a fork may inherit.
class LocalChannel : public AnyChannel {};
INSTANTIATE_TEST_SUITE_P(, LocalChannel, testing::Values(Kind{"Socket", sockets}, Kind{"Pipe", pipes}, Kind{"Shm", shm}),
                         [](const auto &Info) { return Info.param.Name; });

TEST_P(AnyChannel, HeadComesBeforeBody) {
  const auto First = bytes({1, 2}), Last = bytes({3});
  const ByteSpan Pieces[] = {{}, First, {}, Last};
  ASSERT_TRUE(succeeds(Pair.Ours->send(Pieces, patience())));
  std::byte Got[8];
  ASSERT_EQ(Pair.Theirs->receive(Got, patience()).value(), 3u);
  EXPECT_EQ(std::vector(Got, Got + 3), bytes({1, 2, 3}));
}

TEST_P(AnyChannel, MoreThanTheKernelBuffersArrivesWhole) {
  const std::string Text(3 << 20, 'x');
  std::thread Sender([&] { EXPECT_TRUE(succeeds(sendText(*Pair.Ours, Text))); });
  EXPECT_EQ(receiveText(*Pair.Theirs, Text.size()).value(), Text);
  Sender.join();
}

TEST_P(AnyChannel, SilenceEndsAtTheDeadline) {
  const auto Start = Clock::now();
  EXPECT_TRUE(failsWith(Pair.Ours->receive(One, soon()), ErrorKind::Timeout, "did not answer in time"));
  EXPECT_FALSE(Pair.Ours->readable(soon()).value());
  EXPECT_LT(Clock::now() - Start, std::chrono::seconds(5));
}

TEST_P(AnyChannel, PeerThatDoesNotReadEndsASendAtTheDeadline) { EXPECT_TRUE(failsWith(sendTooMuch(*Pair.Ours, after(0.3)), ErrorKind::Timeout, "")); }

TEST_P(AnyChannel, EndOfFileIsThePeersEndAfterWhatItSaid) {
  ASSERT_TRUE(succeeds(sendText(*Pair.Theirs, "bye")));
  Pair.Theirs.reset();
  EXPECT_EQ(receiveText(*Pair.Ours, 3).value(), "bye");
  EXPECT_TRUE(Pair.Ours->readable(patience()).value());
  EXPECT_TRUE(failsWith(Pair.Ours->receive(One, patience()), ErrorKind::PeerGone, "closed its channel or died"));
}

TEST_P(LocalChannel, SendingToNobodyIsAnErrorAndNoSignal) {
  std::signal(SIGPIPE, SIG_DFL);
  Pair.Theirs.reset();
  for (int Time = 0; Time < 2; ++Time)
    EXPECT_TRUE(failsWith(sendText(*Pair.Ours, "x"), ErrorKind::PeerGone, "closed its channel or died"));
  sigset_t Pending;
  sigpending(&Pending);
  EXPECT_FALSE(sigismember(&Pending, SIGPIPE));
}

TEST_P(AnyChannel, InterruptedWaitEnds) {
  Pair.Ours->onWait([] { return true; });
  EXPECT_TRUE(failsWith(Pair.Ours->receive(One, soon()), ErrorKind::Interrupted, "interrupted"));
}

/// How a peer leaves: gone is PeerGone, stopped is silence until the deadline.
struct Fate {
  int Signal;
  ErrorKind Seen;
};
constexpr Fate Fates[] = {{SIGKILL, ErrorKind::PeerGone}, {SIGSTOP, ErrorKind::Timeout}};

/// More than any channel buffers.
constexpr size_t Much = 3 << 20;

/// Another process has the other end, does something there, and meets its fate.
class MortalPeer {
public:
  template <class Fn> MortalPeer(Link &Pair, const Fate &End, Fn Do) : Pid(::fork()) {
    if (Pid == 0) {
      Pair.Ours.reset();
      Do(*Pair.Theirs);
      ::raise(End.Signal);
      ::_exit(1);
    }
    Pair.Theirs.reset();
  }
  ~MortalPeer() {
    ::kill(Pid, SIGKILL);
    ::waitpid(Pid, nullptr, 0);
  }

private:
  pid_t Pid;
};

TEST_P(LocalChannel, PeerThatIsKilledOrStoppedAfterAnyByteEndsAReceive) {
  for (const Fate &End : Fates)
    for (size_t Size : {size_t(0), size_t(1), size_t(15), size_t(40000)}) {
      Link Fresh = GetParam().connect();
      const MortalPeer Peer(Fresh, End, [&](Channel &There) { (void)sendText(There, std::string(Size, 'x')); });
      EXPECT_EQ(receiveText(*Fresh.Ours, Size).value(), std::string(Size, 'x'));
      EXPECT_TRUE(failsWith(Fresh.Ours->receive(One, End.Signal == SIGSTOP ? soon() : patience()), End.Seen, ""));
    }
}

TEST_P(LocalChannel, PeerThatIsKilledOrStoppedAfterAnyByteEndsASend) {
  const std::string Text(Much, 'x');
  for (const Fate &End : Fates)
    for (size_t Size : {size_t(0), size_t(1), size_t(15), size_t(400000)}) {
      Link Fresh = GetParam().connect();
      const MortalPeer Peer(Fresh, End, [&](Channel &There) { (void)receiveText(There, Size); });
      const auto Until = End.Signal == SIGSTOP ? after(0.3) : patience();
      EXPECT_TRUE(failsWith(Fresh.Ours->send(std::as_bytes(std::span(Text)), Until), End.Seen, ""));
    }
}

TEST_P(AnyChannel, FilenoBecomesReadableWhenThePeerSpeaks) {
  ASSERT_FALSE(Pair.Ours->readable(Clock::now()).value());
  EXPECT_FALSE(pollReadable(*Pair.Ours, 0));
  ASSERT_TRUE(succeeds(sendText(*Pair.Theirs, "x")));
  EXPECT_TRUE(pollReadable(*Pair.Ours, 1000));
  EXPECT_TRUE(Pair.Ours->readable(Clock::now()).value());
}

TEST_P(AnyChannel, TwoThreadsHammeringLoseNothing) {
  constexpr size_t Rounds = 3000;
  std::thread Echo([&] {
    for (size_t Round = 0; Round < Rounds; ++Round)
      EXPECT_TRUE(succeeds(sendText(*Pair.Theirs, receiveText(*Pair.Theirs, sizeOfRound(Round)).value())));
  });
  for (size_t Round = 0; Round < Rounds; ++Round) {
    const std::string Text(sizeOfRound(Round), static_cast<char>(Round));
    ASSERT_TRUE(succeeds(sendText(*Pair.Ours, Text)));
    ASSERT_EQ(receiveText(*Pair.Ours, Text.size()).value(), Text);
  }
  Echo.join();
}

/// Those that carry descriptors.
class CarryingChannel : public AnyChannel {};
INSTANTIATE_TEST_SUITE_P(, CarryingChannel, testing::Values(Kind{"Socket", sockets}, Kind{"Shm", shm}, Kind{"Grpc", grpc}),
                         [](const auto &Info) { return Info.param.Name; });

TEST_P(CarryingChannel, DescriptorsArriveWithTheBytesInOrder) {
  Ends First, Second;
  ASSERT_TRUE(succeeds(Pair.Ours->send(bytes({1}), patience(), First.Theirs.get())));
  ASSERT_TRUE(succeeds(Pair.Ours->send(bytes({2}), patience(), Second.Theirs.get())));
  ASSERT_TRUE(succeeds(receiveText(*Pair.Theirs, 2)));
  const auto Received = socketChannel(Pair.Theirs->takeAttached());
  EXPECT_TRUE(Pair.Theirs->takeAttached());
  EXPECT_FALSE(Pair.Theirs->takeAttached());
  ASSERT_TRUE(succeeds(sendText(*Received, "hi")));
  EXPECT_EQ(receiveText(*First.ours(), 2).value(), "hi");
}

TEST(PipeChannel, RefusesToCarryDescriptors) {
  Link Pair = pipes();
  EXPECT_TRUE(failsWith(Pair.Ours->send(bytes({1}), patience(), 0), ErrorKind::InvalidArgument, "use a socket"));
}

TEST(PipeChannel, PeerThatClosesItsReadingHalfAloneIsGoneAfterWhatItSaid) {
  int Up[2], Down[2];
  ASSERT_EQ(::pipe2(Up, O_CLOEXEC) | ::pipe2(Down, O_CLOEXEC), 0);
  const FileDescriptor TheirOut(Down[1]);
  const auto Ours = pipeChannel(FileDescriptor(Down[0]), FileDescriptor(Up[1]));
  ASSERT_EQ(::write(TheirOut.get(), "bye", 3), 3);
  FileDescriptor(Up[0]).reset();
  std::byte One[1];
  EXPECT_EQ(receiveText(*Ours, 3).value(), "bye");
  EXPECT_TRUE(failsWith(Ours->receive(One, patience()), ErrorKind::PeerGone, "closed its channel or died"));
}

class FifoPair : public FifoTest {};

TEST_F(FifoPair, ConnectsBothEndsWhicheverComesFirst) {
  auto Learner = Fifo::open(Base, FifoEnd::Learner).value();
  auto Compiler = Fifo::open(Base, FifoEnd::Compiler).value();
  const auto Ours = Learner.connect(patience()).value();
  const auto Theirs = Compiler.connect(patience()).value();
  ASSERT_TRUE(succeeds(sendText(*Ours, "in")));
  ASSERT_TRUE(succeeds(sendText(*Theirs, "out")));
  EXPECT_EQ(receiveText(*Theirs, 2).value(), "in");
  EXPECT_EQ(receiveText(*Ours, 3).value(), "out");
}

TEST_F(FifoPair, ThatNobodyOpensTimesOutAndMayBeTriedAgain) {
  auto Compiler = Fifo::open(Base, FifoEnd::Compiler).value();
  EXPECT_TRUE(failsWith(Compiler.connect(soon()), ErrorKind::Timeout, "nobody opened " + Base + ".out in time"));
  const auto Learner = Fifo::open(Base, FifoEnd::Learner).value();
  EXPECT_TRUE(succeeds(Compiler.connect(patience())));
}

TEST_F(FifoPair, SilentBeforeItsWriterComesIsNotGone) {
  const auto Compiler = Fifo::open(Base, FifoEnd::Compiler).value();
  auto Learner = Fifo::open(Base, FifoEnd::Learner).value();
  std::byte One[1];
  const auto Ours = Learner.connect(patience()).value();
  EXPECT_TRUE(failsWith(Ours->receive(One, soon()), ErrorKind::Timeout, ""));
}

/// Linux counts a writer a moment before it is there: who polls meanwhile sees one that came and went, once in a thousand times.
TEST_F(FifoPair, WriterThatComesDuringAReadHasNotGone) {
  constexpr int Rounds = 2000;
  for (int Round = 0; Round < Rounds; ++Round) {
    auto Compiler = Fifo::open(Base, FifoEnd::Compiler).value();
    auto Learner = Fifo::open(Base, FifoEnd::Learner).value();
    const auto Ours = Learner.connect(patience()).value();
    std::thread Writer([&] { EXPECT_TRUE(succeeds(sendText(*Compiler.connect(patience()).value(), "!"))); });
    const auto Received = receiveText(*Ours, 1);
    Writer.join();
    ASSERT_TRUE(succeeds(Received)) << Round;
  }
}

TEST_F(FifoPair, ThatIsNoneIsNamed) {
  EXPECT_TRUE(failsWith(Fifo::open(Base + "-none", FifoEnd::Compiler), ErrorKind::SystemError, Base + "-none.in"));
  std::ofstream(Base + "-file.in");
  EXPECT_TRUE(failsWith(Fifo::open(Base + "-file", FifoEnd::Compiler), ErrorKind::InvalidArgument, "is not a FIFO"));
}

} // namespace
} // namespace mlcb
