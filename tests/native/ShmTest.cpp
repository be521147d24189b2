// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared memory: its rings, what a peer may do to them, and how two processes come to share them.
#include "Links.h"
#include "channel/ShmRendezvous.h"
#include "protocol/Framed.h"

#include <fcntl.h>
#include <fstream>
#include <future>
#include <optional>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

namespace mlcb {
namespace {

using namespace test;

/// Two channels, and the memory between them for a peer to spoil.
struct Spoilt {
  std::shared_ptr<Rings> Memory = mapRings(makeRings().value()).value();
  Ends Pair;
  std::unique_ptr<Channel> Ours = shmChannel(Memory, Memory->ToLearner, Memory->ToCompiler, Pair.ours());
  std::byte Into[64];
};

TEST(Ring, MessagesSurviveTheWrapAroundAtEveryOffset) {
  const auto Memory = mapRings(makeRings().value()).value();
  RingWriter Writer(Memory->ToLearner);
  RingReader Reader(Memory->ToLearner);
  std::vector<std::byte> Sent(37), Got(37);
  for (size_t Message = 0; Message < Ring::Capacity; ++Message) { // 37 and the capacity have no common divisor
    std::ranges::fill(Sent, static_cast<std::byte>(Message));
    Writer.put(Sent);
    Writer.publish();
    ASSERT_EQ(Reader.available().value(), Sent.size());
    Reader.take(Got);
    ASSERT_EQ(Got, Sent);
  }
}

TEST(Ring, FillsToTheLastByteAndNotBeyond) {
  const auto Memory = mapRings(makeRings().value()).value();
  RingWriter Writer(Memory->ToLearner);
  EXPECT_EQ(Writer.room().value(), Ring::Capacity);
  Writer.put(std::vector<std::byte>(Ring::Capacity));
  Writer.publish();
  EXPECT_EQ(Writer.room().value(), 0u);
  EXPECT_EQ(RingReader(Memory->ToLearner).available().value(), Ring::Capacity);
}

TEST(ShmChannel, FramesOfAnySizeStreamThrough) {
  for (size_t Size : {size_t(0), size_t(1), Ring::Capacity - FrameHeader::Size - 1, Ring::Capacity - FrameHeader::Size, Ring::Capacity,
                      Ring::Capacity + 1, 2 * Ring::Capacity, 3 * Ring::Capacity}) {
    Link Pair = shm();
    Framed Ours(std::move(Pair.Ours)), Theirs(std::move(Pair.Theirs));
    std::vector<std::byte> Payload(Size);
    for (size_t I = 0; I < Size; ++I)
      Payload[I] = static_cast<std::byte>(I % 251);
    std::thread Sender([&] { EXPECT_TRUE(succeeds(Ours.send(FrameKind::Begin, Payload, patience()))); });
    const auto Got = Theirs.receive(patience());
    Sender.join();
    ASSERT_TRUE(succeeds(Got));
    EXPECT_TRUE(std::ranges::equal(Got->Payload, Payload));
  }
}

TEST(ShmChannel, WithoutAFreeCoreEveryWaitSleepsAndNoWakeUpIsLost) {
  cpu_set_t One;
  CPU_ZERO(&One);
  CPU_SET(static_cast<size_t>(::sched_getcpu()), &One);
  ASSERT_EQ(::sched_setaffinity(0, sizeof One, &One), 0);
  Link Pair = shm();
  const std::string Text(10000, 'x');
  constexpr size_t Rounds = 2000;
  std::thread Echo([&] {
    for (size_t Round = 0; Round < Rounds; ++Round)
      EXPECT_TRUE(succeeds(sendText(*Pair.Theirs, receiveText(*Pair.Theirs, Text.size()).value())));
  });
  for (size_t Round = 0; Round < Rounds; ++Round) {
    ASSERT_TRUE(succeeds(sendText(*Pair.Ours, Text)));
    ASSERT_EQ(receiveText(*Pair.Ours, Text.size()).value(), Text);
  }
  Echo.join();
}

TEST(ShmChannel, PeerThatClosesInTheMiddleOfAFrameIsGone) {
  for (size_t Size : {size_t(1), FrameHeader::Size, FrameHeader::Size + 1}) {
    Link Pair = shm();
    const auto Header = encode({.Kind = FrameKind::Begin, .Length = 5});
    const std::span Whole(Header);
    ASSERT_TRUE(succeeds(Pair.Theirs->send(Whole.first(std::min(Size, Whole.size())), patience())));
    Pair.Theirs.reset();
    EXPECT_TRUE(failsWith(Framed(std::move(Pair.Ours)).receive(patience()), ErrorKind::PeerGone, ""));
  }
}

TEST(ShmChannel, CountThatCannotBeIsAnErrorForAReceive) {
  for (uint64_t Written : {uint64_t(Ring::Capacity + 1), uint64_t(1) << 63, UINT64_MAX}) {
    Spoilt It;
    It.Memory->ToLearner.Written = Written;
    EXPECT_TRUE(It.Ours->readable(patience()).value());
    EXPECT_TRUE(failsWith(It.Ours->receive(It.Into, patience()), ErrorKind::ProtocolError, "spoilt the shared memory"));
  }
}

TEST(ShmChannel, CountThatGoesBackIsAnErrorForAReceive) {
  Spoilt It;
  It.Memory->ToLearner.Written = 8;
  ASSERT_EQ(It.Ours->receive(It.Into, patience()).value(), 8u);
  It.Memory->ToLearner.Written = 7;
  EXPECT_TRUE(failsWith(It.Ours->receive(It.Into, patience()), ErrorKind::ProtocolError, "spoilt the shared memory"));
}

TEST(ShmChannel, CountThatCannotBeIsAnErrorForASend) {
  for (uint64_t Read : {uint64_t(1), uint64_t(1) << 63, UINT64_MAX - Ring::Capacity}) {
    Spoilt It;
    It.Memory->ToCompiler.Read = Read;
    EXPECT_TRUE(failsWith(It.Ours->send(bytes({1}), patience()), ErrorKind::ProtocolError, "spoilt the shared memory"));
  }
}

TEST(ShmChannel, PeerThatOverwritesOurOwnCountsGainsNothing) {
  Spoilt It;
  It.Memory->ToCompiler.Written = 12345;
  It.Memory->ToLearner.Read = 12345;
  ASSERT_TRUE(succeeds(It.Ours->send(bytes({1}), patience())));
  EXPECT_EQ(It.Memory->ToCompiler.Written, 1u);
  It.Memory->ToLearner.Written = 2;
  EXPECT_EQ(It.Ours->receive(It.Into, patience()).value(), 2u);
  EXPECT_EQ(It.Memory->ToLearner.Read, 2u);
}

TEST(ShmChannel, PeerThatRingsWithoutReasonDoesNotHoldUpTheDeadline) {
  Spoilt It;
  const auto Peer = It.Pair.theirs();
  ASSERT_TRUE(succeeds(sendText(*Peer, std::string(100000, 'x'))));
  EXPECT_TRUE(failsWith(It.Ours->receive(It.Into, soon()), ErrorKind::Timeout, ""));
}

TEST(ShmChannel, PeerThatNeverTakesItsWakeUpsIsNotWaitedFor) {
  Spoilt It;
  for (size_t Time = 0; Time < 100000; ++Time) {
    It.Memory->ToCompiler.ReaderSleeps = 1;
    It.Memory->ToCompiler.Read = Time;
    ASSERT_TRUE(succeeds(It.Ours->send(bytes({1}), patience())));
  }
}

/// A path in a folder that goes with the test.
class ShmRendezvous : public FifoTest {
protected:
  std::string Path = Base + ".shm";

  ShmListener listen() { return ShmListener::open(Path).value(); }

  std::future<Expected<std::unique_ptr<Channel>>> compilerConnects(Deadline Until = patience()) {
    return std::async(std::launch::async, [this, Until] { return connectShm(Path, Until); });
  }

  /// The compiler's reaction to a learner that offers that memory, or -1 for none.
  Expected<std::unique_ptr<Channel>> offered(int Memory) {
    const FileDescriptor Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un Address{.sun_family = AF_UNIX};
    std::ranges::copy(Path, Address.sun_path);
    EXPECT_EQ(::bind(Socket.get(), reinterpret_cast<sockaddr *>(&Address), sizeof Address), 0);
    EXPECT_EQ(::listen(Socket.get(), 1), 0);
    auto Compiler = compilerConnects();
    const auto Peer = socketChannel(FileDescriptor(::accept4(Socket.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    EXPECT_TRUE(succeeds(Peer->send(bytes({0}), patience(), Memory)));
    return Compiler.get();
  }
};

TEST_F(ShmRendezvous, ConnectsBothEndsAndLeavesNoPath) {
  auto Compiler = compilerConnects(); // either may come first
  std::unique_ptr<Channel> Ours;
  {
    auto Listener = listen();
    Ours = Listener.connect(patience()).value();
  }
  EXPECT_FALSE(std::filesystem::exists(Path));
  const auto Theirs = Compiler.get().value();
  ASSERT_TRUE(succeeds(sendText(*Ours, "in")));
  ASSERT_TRUE(succeeds(sendText(*Theirs, "out")));
  EXPECT_EQ(receiveText(*Theirs, 2).value(), "in");
  EXPECT_EQ(receiveText(*Ours, 3).value(), "out");
}

TEST_F(ShmRendezvous, ThatNobodyComesToTimesOutAndMayBeTriedAgain) {
  EXPECT_TRUE(failsWith(connectShm(Path, soon()), ErrorKind::Timeout, "nobody listened at " + Path));
  auto Listener = listen();
  EXPECT_TRUE(failsWith(Listener.connect(soon()), ErrorKind::Timeout, "nobody connected to " + Path));
  auto Compiler = compilerConnects();
  EXPECT_TRUE(succeeds(Listener.connect(patience())));
  EXPECT_TRUE(succeeds(Compiler.get()));
}

TEST_F(ShmRendezvous, LearnerThatListensAndNeverAcceptsTimesOut) {
  const auto Listener = listen();
  EXPECT_TRUE(failsWith(connectShm(Path, soon()), ErrorKind::Timeout, ""));
}

TEST_F(ShmRendezvous, LearnerThatGoesBeforeItAcceptsIsGone) {
  std::optional Listener(listen());
  auto Compiler = compilerConnects(after(0.1));
  Listener.reset();
  EXPECT_FALSE(Compiler.get());
}

TEST_F(ShmRendezvous, PathIsForItsOwnerAlone) {
  const auto Listener = listen();
  EXPECT_EQ(std::filesystem::status(Path).permissions(), std::filesystem::perms(0600));
}

TEST_F(ShmRendezvous, PathWhoseListenerIsAliveIsTaken) {
  const auto Listener = listen();
  EXPECT_TRUE(failsWith(ShmListener::open(Path), ErrorKind::SystemError, Path + ": Address already in use"));
  EXPECT_TRUE(std::filesystem::exists(Path));
}

TEST_F(ShmRendezvous, PathAtWhichAnotherListensByNowStays) {
  std::optional First(listen());
  std::filesystem::remove(Path);
  const auto Second = listen();
  First.reset();
  EXPECT_TRUE(std::filesystem::exists(Path));
}

TEST_F(ShmRendezvous, LearnerThatFindsThePathTakenIsNotMistakenForACompiler) {
  auto Listener = listen();
  EXPECT_FALSE(ShmListener::open(Path));
  EXPECT_TRUE(failsWith(Listener.connect(soon()), ErrorKind::Timeout, "nobody connected"));
}

TEST_F(ShmRendezvous, PathThatADeadLearnerLeftIsTakenOver) {
  {
    auto Dead = listen();
    std::filesystem::create_hard_link(Path, Path + "-left");
  }
  std::filesystem::rename(Path + "-left", Path);
  EXPECT_TRUE(succeeds(ShmListener::open(Path)));
}

TEST_F(ShmRendezvous, PathThatIsAFileStays) {
  std::ofstream(Path) << "precious";
  EXPECT_TRUE(failsWith(ShmListener::open(Path), ErrorKind::SystemError, Path + ": Address already in use"));
  EXPECT_TRUE(std::filesystem::is_regular_file(Path));
}

TEST_F(ShmRendezvous, PathTooLongForASocketIsRefused) {
  const std::string Long(200, 'x');
  EXPECT_TRUE(failsWith(ShmListener::open(Long), ErrorKind::InvalidArgument, "1 to 107 bytes"));
  EXPECT_TRUE(failsWith(connectShm(Long, soon()), ErrorKind::InvalidArgument, "1 to 107 bytes"));
}

TEST_F(ShmRendezvous, MemoryThatIsNoneIsRefused) { EXPECT_TRUE(failsWith(offered(-1), ErrorKind::ProtocolError, "offers no shared memory of")); }

TEST_F(ShmRendezvous, MemoryOfAnotherSizeIsRefused) {
  const FileDescriptor Memory(::memfd_create("test", MFD_CLOEXEC));
  EXPECT_TRUE(failsWith(offered(Memory.get()), ErrorKind::ProtocolError, "offers no shared memory of"));
}

TEST_F(ShmRendezvous, MemoryThatCouldBeCutOffIsRefused) {
  const FileDescriptor Memory(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(Memory.get(), sizeof(Rings)), 0);
  EXPECT_TRUE(failsWith(offered(Memory.get()), ErrorKind::ProtocolError, "did not seal"));
}

TEST_F(ShmRendezvous, FileThatCannotBeSealedIsRefused) {
  const FileDescriptor File(::open(".", O_TMPFILE | O_RDWR, 0600)); // on disk: the build's own folder
  ASSERT_EQ(::ftruncate(File.get(), sizeof(Rings)), 0);
  EXPECT_TRUE(failsWith(offered(File.get()), ErrorKind::ProtocolError, "did not seal"));
}

} // namespace
} // namespace mlcb
