// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Frames as docs/protocol.md has them, and the end of a conversation when one is wrong.
#include "protocol/Framed.h"
#include "Support.h"

namespace mlcb {
namespace {

using namespace test;

const auto Payload = bytes({1, 2, 3, 4, 5, 6, 7, 8});

/// Frames at our end; at theirs, whatever bytes a test sends.
class FramedTest : public testing::Test {
protected:
  Ends Pair;
  Framed Ours{Pair.ours()};
  std::unique_ptr<Channel> Theirs = Pair.theirs();

  void theySend(const std::vector<std::byte> &Bytes) { ASSERT_TRUE(succeeds(Theirs->send(Bytes, patience()))); }
};

TEST_F(FramedTest, SendsTheDocumentedBytes) {
  ASSERT_TRUE(succeeds(Ours.send(FrameKind::Hello, {}, patience())));
  ASSERT_TRUE(succeeds(Ours.send(FrameKind::EpisodeEnd, bytes({'h', 'i'}), patience(), 2, 3)));
  std::byte Got[64];
  ASSERT_EQ(Theirs->receive(std::span(Got).first(16), patience()).value(), 16u);
  EXPECT_EQ(std::vector(Got, Got + 16), bytes({'M', 'L', 'C', 'B', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  ASSERT_EQ(Theirs->receive(Got, patience()).value(), 18u);
  EXPECT_EQ(std::vector(Got, Got + 18), bytes({'M', 'L', 'C', 'B', 1, 5, 2, 3, 1, 0, 0, 0, 2, 0, 0, 0, 'h', 'i'}));
}

TEST_F(FramedTest, ReceivesTheDocumentedBytes) {
  theySend(bytes({'M', 'L', 'C', 'B', 1, 3, 2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 'h', 'i'}));
  const auto Got = Ours.receive(patience());
  ASSERT_TRUE(succeeds(Got));
  EXPECT_EQ(Got->Kind, FrameKind::Observation);
  EXPECT_EQ(Got->Agent, 2);
  EXPECT_EQ(Got->text(), "hi");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(Got->Payload.data()) % 8, 0u);
}

TEST_F(FramedTest, FrameInPiecesSurvivesATimeout) {
  theySend(bytes({'M', 'L', 'C', 'B', 1, 4}));
  EXPECT_TRUE(failsWith(Ours.receive(soon()), ErrorKind::Timeout, ""));
  theySend(bytes({0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 'a'}));
  EXPECT_TRUE(failsWith(Ours.receive(soon()), ErrorKind::Timeout, ""));
  theySend(bytes({'b', 'c'}));
  EXPECT_EQ(Ours.receive(patience()).value().text(), "abc");
}

TEST_F(FramedTest, FramesThatCameTogetherAreTakenOneByOne) {
  theySend(bytes({'M', 'L', 'C', 'B', 1, 4, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'x', //
                  'M', 'L', 'C', 'B', 1, 8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Ours.receive(patience()).value().text(), "x");
  EXPECT_TRUE(Ours.readable(soon()).value());
  EXPECT_EQ(Ours.receive(patience()).value().Kind, FrameKind::Bye);
}

TEST_F(FramedTest, TruncatedFrameIsThePeersEnd) {
  const auto InHeader = bytes({'M', 'L', 'C'});
  const auto InPayload = bytes({'M', 'L', 'C', 'B', 1, 3, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 'x'});
  for (const auto &Start : {InHeader, InPayload}) {
    Ends Fresh;
    Framed Reader(Fresh.ours());
    ASSERT_TRUE(succeeds(Fresh.theirs()->send(Start, patience())));
    EXPECT_TRUE(failsWith(Reader.receive(patience()), ErrorKind::PeerGone, "closed its channel or died"));
    EXPECT_FALSE(Reader.isOpen());
  }
}

struct Wrong {
  const char *Name;
  std::vector<std::byte> Header;
  const char *Sentence;
};

void PrintTo(const Wrong &Which, std::ostream *Out) { *Out << Which.Name; }

/// A header that is refused: our end says why, hears no more, and theirs is told.
class WrongFrame : public FramedTest, public testing::WithParamInterface<Wrong> {};
INSTANTIATE_TEST_SUITE_P(
    , WrongFrame,
    testing::Values(
        Wrong{"Foreign", bytes({'H', 'T', 'T', 'P', '/', '1', '.', '1', ' ', '4', '0', '0', ' ', 'B', 'a', 'd'}), "does not start with MLCB"},
        Wrong{"OtherVersion", bytes({'M', 'L', 'C', 'B', 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "a frame of version 2"},
        Wrong{"KindZero", bytes({'M', 'L', 'C', 'B', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "of unknown kind 0"},
        Wrong{"UnknownKind", bytes({'M', 'L', 'C', 'B', 1, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "of unknown kind 99"},
        Wrong{"Oversized", bytes({'M', 'L', 'C', 'B', 1, 3, 0, 0, 0, 0, 0, 0, 1, 0, 0, 4}), "a frame of 67108865 bytes, at most 67108864"},
        Wrong{"OutOfSequence", bytes({'M', 'L', 'C', 'B', 1, 3, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}), "frame 7 came where frame 0 was due"}),
    [](const auto &Info) { return Info.param.Name; });

TEST_P(WrongFrame, IsRefusedWithASentenceThatBothEndsGet) {
  theySend(GetParam().Header);
  EXPECT_TRUE(failsWith(Ours.receive(patience()), ErrorKind::ProtocolError, GetParam().Sentence));
  EXPECT_TRUE(failsWith(Ours.receive(patience()), ErrorKind::PeerGone, "closed"));
  Framed Their(std::move(Theirs));
  EXPECT_TRUE(failsWith(Their.receive(patience()), ErrorKind::PeerError, GetParam().Sentence));
}

TEST_F(FramedTest, LongestFrameIsAnnouncedWithoutBeingAllocated) {
  theySend(bytes({'M', 'L', 'C', 'B', 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4}));
  EXPECT_TRUE(failsWith(Ours.receive(soon()), ErrorKind::Timeout, ""));
  EXPECT_TRUE(Ours.isOpen());
}

TEST_F(FramedTest, OversizedPayloadIsNotSent) {
  const std::vector<std::byte> Huge(FrameHeader::MaxLength + 1);
  EXPECT_TRUE(failsWith(Ours.send(FrameKind::Observation, Huge, patience()), ErrorKind::InvalidArgument, "at most 67108864"));
  EXPECT_EQ(Ours.nextSequence(), 0u);
}

TEST_F(FramedTest, RefusalIsOnePrintableLine) {
  (void)Ours.refuse({ErrorKind::ProtocolError, "two\nlines\x1b[31m"});
  EXPECT_FALSE(Ours.isOpen());
  EXPECT_TRUE(failsWith(Framed(std::move(Theirs)).receive(patience()), ErrorKind::PeerError, "two lines [31m"));
}

TEST_F(FramedTest, ConversationGoesOnAfterBeingDeclined) {
  Framed Their(std::move(Theirs));
  (void)Ours.decline({ErrorKind::InvalidArgument, "not this one"});
  ASSERT_TRUE(succeeds(Ours.send(FrameKind::Hello, {}, patience())));
  EXPECT_TRUE(failsWith(Their.receive(patience()), ErrorKind::PeerError, "not this one"));
  EXPECT_EQ(Their.receive(patience()).value().Kind, FrameKind::Hello);
}

TEST_F(FramedTest, SendingToAPeerThatGaveUpTellsItsReason) {
  Framed(std::move(Theirs)).refuse({ErrorKind::SystemError, "out of memory"});
  EXPECT_TRUE(failsWith(Ours.send(FrameKind::Advice, Payload, patience()), ErrorKind::SystemError, "out of memory"));
}

TEST_F(FramedTest, DescriptorComesWithItsFrame) {
  Framed Their(std::move(Theirs));
  Ends Episode;
  ASSERT_TRUE(succeeds(Ours.send(FrameKind::Hello, {}, patience())));
  ASSERT_TRUE(succeeds(Ours.send(FrameKind::Begin, bytesOf("{}"), patience(), 0, 0, Episode.Theirs.get())));
  EXPECT_FALSE(Their.receive(patience()).value().Attached);
  auto Begin = Their.receive(patience()).value();
  ASSERT_TRUE(Begin.Attached);
  ASSERT_TRUE(succeeds(Framed(socketChannel(std::move(Begin.Attached))).send(FrameKind::Bye, {}, patience())));
  EXPECT_EQ(Framed(Episode.ours()).receive(patience()).value().Kind, FrameKind::Bye);
}

} // namespace
} // namespace mlcb
