// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gRPC: who may speak to whom, peers that go, and a compiler and a learner over it.
#include "Links.h"
#include "channel/Pump.h"
#include "protocol/LearnerEnd.h"
#include "runner/RemoteRunner.h"
#include "spec/Tasks.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <spawn.h>
#include <sys/wait.h>

namespace mlcb {
namespace {

using namespace test;

Expected<std::unique_ptr<GrpcRendezvous>> open(const std::string &Uri, bool Listens) { return openGrpc(Uri::parse(Uri), Listens); }

/// A server and those who call it.
class GrpcPlaceTest : public testing::Test {
protected:
  using Called = std::future<Expected<std::unique_ptr<Channel>>>;

  void listen(const std::string &Options = "") { Server = open("grpc://127.0.0.1:0" + Options, true).value(); }

  /// A caller, which waits in another thread.
  Called call(const std::string &Options = "", Deadline Until = patience()) {
    return std::async(std::launch::async, [Uri = "grpc://" + Server->address() + Options, Until] {
      return open(Uri, false).and_then([&](auto Place) { return Place->connect(Until, {}); });
    });
  }

  std::unique_ptr<GrpcRendezvous> Server;
  std::byte One[1];
};

class GrpcRendezvousTest : public GrpcPlaceTest {};

TEST_F(GrpcRendezvousTest, CallersAreTakenOneAfterAnother) {
  listen();
  for (const std::string Text : {"first", "second"}) {
    auto Caller = call();
    const auto Theirs = Server->connect(patience(), {}).value();
    const auto Ours = Caller.get().value();
    ASSERT_TRUE(succeeds(sendText(*Ours, Text)));
    EXPECT_EQ(receiveText(*Theirs, Text.size()).value(), Text);
  }
}

TEST_F(GrpcRendezvousTest, CallerMayComeFirst) {
  listen();
  const std::string Address = Server->address();
  Server.reset();
  auto Caller = std::async(std::launch::async, [&] { return open("grpc://" + Address, false).value()->connect(patience(), {}); });
  Server = open("grpc://" + Address, true).value();
  EXPECT_TRUE(succeeds(Server->connect(patience(), {})));
  EXPECT_TRUE(succeeds(Caller.get()));
}

TEST_F(GrpcRendezvousTest, NobodyThereIsATimeoutThatSaysWhy) {
  listen();
  const std::string Address = Server->address();
  EXPECT_TRUE(failsWith(Server->connect(soon(), {}), ErrorKind::Timeout, "nobody called grpc://" + Address));
  EXPECT_TRUE(failsWith(call("", after(0.5)).get(), ErrorKind::Timeout, "nobody took the call in time"));
  Server.reset();
  EXPECT_TRUE(failsWith(open("grpc://" + Address, false).value()->connect(after(0.5), {}), ErrorKind::Timeout, "Connection refused"));
}

TEST_F(GrpcRendezvousTest, InterruptedWaitForACallerOrAServerEnds) {
  listen();
  const auto Interrupt = [] { return true; };
  EXPECT_TRUE(failsWith(Server->connect(patience(), Interrupt), ErrorKind::Interrupted, "interrupted"));
  EXPECT_TRUE(failsWith(open("grpc://127.0.0.1:1", false).value()->connect(patience(), Interrupt), ErrorKind::Interrupted, ""));
}

TEST_F(GrpcRendezvousTest, PortThatIsTakenIsNamed) {
  listen();
  EXPECT_TRUE(failsWith(open("grpc://" + Server->address(), true), ErrorKind::SystemError, "cannot listen at grpc://" + Server->address()));
}

TEST_F(GrpcRendezvousTest, CallerThatGaveUpIsPassedOver) {
  listen();
  EXPECT_FALSE(call("", after(0.1)).get());
  EXPECT_TRUE(failsWith(Server->connect(after(0.1), {}), ErrorKind::Timeout, ""));
}

TEST_F(GrpcRendezvousTest, LocalhostIsOneAddress) {
  const auto Local = open("grpc://localhost:0", true);
  ASSERT_TRUE(Local) << Local.error().Message;
  EXPECT_TRUE((*Local)->address().starts_with("127.0.0.1:")) << (*Local)->address();
}

TEST_F(GrpcRendezvousTest, MalformedPlaceIsRefused) {
  for (const char *Uri : {"grpc:", "grpc:127.0.0.1:1", "grpc://127.0.0.1", "grpc://:1", "grpc://localhost:65536", "grpc://localhost:x"})
    EXPECT_TRUE(failsWith(open(Uri, false), ErrorKind::InvalidArgument, "expected grpc://HOST:PORT")) << Uri;
  EXPECT_TRUE(failsWith(open("grpc://localhost:1?speed=9", false), ErrorKind::InvalidArgument, "unknown option 'speed=9'"));
  EXPECT_TRUE(failsWith(open("grpc://localhost:1?server=me", false), ErrorKind::InvalidArgument, "expected compiler or learner"));
  EXPECT_TRUE(failsWith(open("grpc://localhost:1?token=", false), ErrorKind::InvalidArgument, "token  cannot be read"));
  EXPECT_TRUE(failsWith(open("grpc://localhost:1?token=/no/such", false), ErrorKind::InvalidArgument, "/no/such cannot be read"));
  EXPECT_TRUE(failsWith(open("grpc://localhost:1?token=/dev/null", false), ErrorKind::InvalidArgument, "/dev/null is no regular file"));
}

TEST_F(GrpcRendezvousTest, FolderInPlaceOfATokenIsRefused) {
  EXPECT_TRUE(failsWith(open("grpc://localhost:1?token=/etc", false), ErrorKind::InvalidArgument, "/etc is no regular file"));
  ::setenv("MLCB_TOKEN_FILE", "/etc", 1);
  EXPECT_TRUE(failsWith(open("grpc://localhost:1", false), ErrorKind::InvalidArgument, "token /etc cannot be read"));
  ::unsetenv("MLCB_TOKEN_FILE");
}

TEST_F(GrpcRendezvousTest, AddressThatIsNotLoopbackIsRefusedWithoutTlsAndToken) {
  for (const char *Host : {"0.0.0.0", "10.1.2.3", "[::]", "example.org", "127.example.org", "128.0.0.1"})
    for (bool Listens : {false, true})
      EXPECT_TRUE(failsWith(open("grpc://" + std::string(Host) + ":1", Listens), ErrorKind::InvalidArgument, "needs TLS and a token")) << Host;
}

TEST(GrpcChannel, SendingToNobodyIsAnErrorAndNoSignal) {
  std::signal(SIGPIPE, SIG_DFL);
  for (const bool ServerGoes : {true, false}) {
    Link Pair = grpc();
    (ServerGoes ? Pair.Theirs : Pair.Ours).reset();
    EXPECT_TRUE(failsWith(sendTooMuch(*(ServerGoes ? Pair.Ours : Pair.Theirs), patience()), ErrorKind::PeerGone, ""));
  }
}

/// With gRPC 1.51's callbacks instead of queues one in some hundred ended in an abort.
TEST(GrpcChannel, ConnectionsComeAndGo) {
  for (int Time = 0; Time < 300; ++Time) {
    Link Pair = grpc();
    ASSERT_TRUE(succeeds(sendText(*Pair.Ours, "x")));
    EXPECT_EQ(receiveText(*Pair.Theirs, 1).value(), "x");
  }
}

TEST(GrpcChannel, LastWordsOfAnEndThatGoesAreHeardLater) {
  Link Pair = grpc();
  for (const char *Word : {"a", "b", "c"})
    ASSERT_TRUE(succeeds(sendText(*Pair.Ours, Word)));
  Pair.Ours.reset();
  EXPECT_EQ(receiveText(*Pair.Theirs, 3).value(), "abc");
}

TEST(GrpcChannel, FrameOfTheGreatestLengthArrivesWhole) {
  Link Pair = grpc();
  Framed Ours(std::move(Pair.Ours)), Theirs(std::move(Pair.Theirs));
  const std::vector<std::byte> Payload(FrameHeader::MaxLength, std::byte{7});
  auto Sent = std::async(std::launch::async, [&] { return Ours.send(FrameKind::Begin, Payload, patience()); });
  const auto Got = Theirs.receive(patience());
  ASSERT_TRUE(succeeds(Got));
  EXPECT_TRUE(std::ranges::equal(Got->Payload, Payload));
  EXPECT_TRUE(succeeds(Sent.get()));
}

TEST(GrpcChannel, FrameThatIsTooLongIsRefused) {
  Link Pair = grpc();
  const auto Header = encode({.Kind = FrameKind::Begin, .Length = FrameHeader::MaxLength + 1});
  ASSERT_TRUE(succeeds(Pair.Ours->send(Header, patience())));
  EXPECT_TRUE(failsWith(Framed(std::move(Pair.Theirs)).receive(patience()), ErrorKind::ProtocolError, "at most 67108864"));
}

TEST(GrpcChannel, DescriptorThatAServerSendsIsRefused) {
  Link Pair = grpc();
  EXPECT_TRUE(failsWith(Pair.Theirs->send(bytes({1}), patience(), 0), ErrorKind::InvalidArgument, "carries no descriptors"));
}

TEST(GrpcChannel, DescriptorsThroughAPumpAndOfADescriptorReachTheFarEnd) {
  Link Far = grpc();
  Ends Near, Behind;
  pump(Near.theirs(), std::move(Far.Ours));
  pump(std::move(Far.Theirs), Behind.ours());
  auto Ours = Near.ours(), Theirs = Behind.theirs();
  for (int Depth = 0; Depth < 3; ++Depth) {
    Ends Fresh;
    ASSERT_TRUE(succeeds(Ours->send(bytes({1, 2, 3}), patience(), Fresh.Theirs.get())));
    Fresh.Theirs.reset();
    ASSERT_TRUE(succeeds(receiveText(*Theirs, 3)));
    Theirs = socketChannel(Theirs->takeAttached());
    Ours = Fresh.ours();
    ASSERT_TRUE(succeeds(sendText(*Ours, "there")));
    ASSERT_TRUE(succeeds(sendText(*Theirs, "here")));
    EXPECT_EQ(receiveText(*Theirs, 5).value(), "there");
    EXPECT_EQ(receiveText(*Ours, 4).value(), "here");
  }
  Theirs.reset();
  std::byte One[1];
  EXPECT_TRUE(failsWith(Ours->receive(One, patience()), ErrorKind::PeerGone, ""));
}

/// A process that called, did something, and meets its fate.
class GrpcFault : public GrpcPlaceTest {
protected:
  std::unique_ptr<Channel> peer(size_t Sends, size_t Receives) {
    listen();
    const std::string Uri = "grpc://" + Server->address(), Sent = std::to_string(Sends), Received = std::to_string(Receives);
    const char *Words[] = {GRPC_PEER, Uri.c_str(), Sent.c_str(), Received.c_str(), nullptr};
    int Up[2], Down[2];
    EXPECT_EQ(::pipe2(Up, O_CLOEXEC) | ::pipe2(Down, O_CLOEXEC), 0);
    posix_spawn_file_actions_t Files;
    posix_spawn_file_actions_init(&Files);
    posix_spawn_file_actions_adddup2(&Files, Down[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&Files, Up[1], STDOUT_FILENO);
    EXPECT_EQ(::posix_spawn(&Pid, GRPC_PEER, &Files, nullptr, const_cast<char **>(Words), environ), 0);
    posix_spawn_file_actions_destroy(&Files);
    ::close(Up[1]);
    ::close(Down[0]);
    Said.reset(Up[0]);
    Stays.reset(Down[1]);
    return Server->connect(patience(), {}).value();
  }

  void meet(int Signal) {
    char Word = 0;
    ASSERT_EQ(::read(Said.get(), &Word, 1), 1);
    ASSERT_EQ(Word, '+');
    ::kill(Pid, Signal);
  }

  ~GrpcFault() override {
    ::kill(Pid, SIGKILL);
    ::waitpid(Pid, nullptr, 0);
  }

  pid_t Pid = 0;
  FileDescriptor Said, Stays;
};

TEST_F(GrpcFault, PeerThatIsKilledEndsAReceiveAfterWhatItSaid) {
  const auto Link = peer(40000, 0);
  EXPECT_EQ(receiveText(*Link, 40000).value().size(), 40000u);
  meet(SIGKILL);
  EXPECT_TRUE(failsWith(Link->receive(One, patience()), ErrorKind::PeerGone, ""));
}

TEST_F(GrpcFault, PeerThatIsStoppedEndsAReceiveAtTheDeadline) {
  const auto Link = peer(0, 0);
  meet(SIGSTOP);
  EXPECT_TRUE(failsWith(Link->receive(One, soon()), ErrorKind::Timeout, ""));
}

TEST_F(GrpcFault, PeerThatIsKilledEndsASend) {
  const auto Link = peer(0, 400000);
  ASSERT_TRUE(succeeds(sendText(*Link, std::string(400000, 'x'))));
  meet(SIGKILL);
  EXPECT_TRUE(failsWith(sendTooMuch(*Link, patience()), ErrorKind::PeerGone, ""));
}

TEST_F(GrpcFault, PeerThatIsStoppedEndsASendAtTheDeadline) {
  const auto Link = peer(0, 0);
  meet(SIGSTOP);
  EXPECT_TRUE(failsWith(sendTooMuch(*Link, after(0.3)), ErrorKind::Timeout, ""));
}

/// Certificates of two authorities, and tokens, in a folder that goes with the test.
class GrpcTls : public GrpcPlaceTest {
protected:
  GrpcTls() {
    std::string Made = testing::TempDir() + "mlcb-tls-XXXXXX";
    Folder = std::string(::mkdtemp(Made.data()));
    for (const std::string Name : {"ours", "theirs"})
      EXPECT_EQ(std::system(("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=mlcb"
                             " -addext subjectAltName=IP:127.0.0.1 -keyout " +
                             file(Name + ".key") + " -out " + file(Name + ".pem") + " 2>&- >&-")
                                .c_str()),
                0);
    std::ofstream(file("token")) << "right\n";
    std::ofstream(file("wrong")) << "wrong\n";
    for (const std::string Name : {"token", "wrong"})
      allow(Name, 0600);
  }
  ~GrpcTls() override { std::filesystem::remove_all(Folder); }

  std::string file(const std::string &Name) const { return Folder + "/" + Name; }
  void allow(const std::string &Name, unsigned Mode) const { std::filesystem::permissions(file(Name), std::filesystem::perms(Mode)); }
  std::string serverOptions() const { return "?cert=" + file("ours.pem") + "&key=" + file("ours.key") + "&token=" + file("token"); }
  std::string clientOptions(const std::string &Authority, const std::string &Token) const {
    return "?ca=" + file(Authority) + "&token=" + file(Token);
  }

  std::string Folder;
};

TEST_F(GrpcTls, RightCertificateAndTokenConnect) {
  listen(serverOptions());
  auto Caller = call(clientOptions("ours.pem", "token"));
  const auto Theirs = Server->connect(patience(), {}).value();
  const auto Ours = Caller.get().value();
  ASSERT_TRUE(succeeds(sendText(*Ours, "secret")));
  EXPECT_EQ(receiveText(*Theirs, 6).value(), "secret");
}

TEST_F(GrpcTls, WrongTokenIsRefusedAtOnce) {
  listen(serverOptions());
  EXPECT_TRUE(failsWith(call(clientOptions("ours.pem", "wrong")).get(), ErrorKind::PeerError, "the server expects another token"));
  EXPECT_TRUE(failsWith(Server->connect(soon(), {}), ErrorKind::Timeout, ""));
}

TEST_F(GrpcTls, SecretThatEveryUserCanReadIsRefusedAtBothEnds) {
  for (const std::string Secret : {"token", "ours.key"})
    for (const unsigned Mode : {0604U, 0602U, 0640U, 0600U}) {
      allow(Secret, Mode);
      const auto Opened = open("grpc://127.0.0.1:0" + serverOptions(), true);
      EXPECT_EQ(Opened.has_value(), (Mode & 7U) == 0) << Secret;
      if (!Opened) {
        EXPECT_TRUE(failsWith(Opened, ErrorKind::InvalidArgument,
                              file(Secret) + " can be read or written by every user, expected only by its owner: chmod 600 "));
      }
    }
  allow("token", 0604);
  EXPECT_TRUE(failsWith(open("grpc://127.0.0.1:1" + clientOptions("ours.pem", "token"), false), ErrorKind::InvalidArgument, "by every user"));
}

TEST_F(GrpcTls, TokenIsAskedForOnLoopbackTooWhereTheServerHasOne) {
  listen("?token=" + file("token"));
  EXPECT_TRUE(failsWith(call().get(), ErrorKind::PeerError, "expects another token"));
}

TEST_F(GrpcTls, CertificateOfAnotherAuthorityIsRefused) {
  listen(serverOptions());
  EXPECT_TRUE(failsWith(call(clientOptions("theirs.pem", "token"), after(0.5)).get(), ErrorKind::Timeout, "certificate verify failed"));
}

TEST_F(GrpcTls, CallerWithoutTlsIsRefused) {
  listen(serverOptions());
  EXPECT_FALSE(call("?token=" + file("token"), after(0.5)).get());
}

TEST_F(GrpcTls, ServerWithAnAuthorityDemandsTheClientsCertificate) {
  listen(serverOptions() + "&ca=" + file("theirs.pem"));
  const std::string Options = clientOptions("ours.pem", "token");
  EXPECT_FALSE(call(Options, after(0.5)).get());
  auto Caller = call(Options + "&cert=" + file("theirs.pem") + "&key=" + file("theirs.key"));
  EXPECT_TRUE(succeeds(Server->connect(patience(), {})));
  EXPECT_TRUE(succeeds(Caller.get()));
}

TEST_F(GrpcTls, AnyAddressMayBeListenedAtWithTlsAndToken) {
  Server = open("grpc://0.0.0.0:0" + serverOptions(), true).value();
  const std::string Port = Server->address().substr(Server->address().rfind(':'));
  auto Caller = std::async(std::launch::async, [&] {
    return open("grpc://127.0.0.1" + Port + clientOptions("ours.pem", "token"), false).value()->connect(patience(), {});
  });
  EXPECT_TRUE(succeeds(Server->connect(patience(), {})));
  EXPECT_TRUE(succeeds(Caller.get()));
}

TEST_F(GrpcTls, FilesMayBeNamedByVariables) {
  ::setenv("MLCB_TLS_CERT", file("ours.pem").c_str(), 1);
  ::setenv("MLCB_TLS_KEY", file("ours.key").c_str(), 1);
  ::setenv("MLCB_TOKEN_FILE", file("token").c_str(), 1);
  EXPECT_TRUE(succeeds(open("grpc://0.0.0.0:0", true)));
}

TEST_F(GrpcTls, HalfOfWhatIsNeededIsRefused) {
  EXPECT_TRUE(failsWith(open("grpc://0.0.0.0:0?token=" + file("token"), true), ErrorKind::InvalidArgument, "needs TLS and a token"));
  EXPECT_TRUE(failsWith(open("grpc://10.0.0.1:1?ca=" + file("ours.pem"), false), ErrorKind::InvalidArgument, "needs TLS and a token"));
  EXPECT_TRUE(failsWith(open("grpc://0.0.0.0:0?token=" + file("token") + "&cert=" + file("ours.key") + "&key=" + file("ours.pem"), true),
                        ErrorKind::InvalidArgument, "cert has no 'BEGIN CERTIFICATE-----', expected a file of PEM"));
  EXPECT_TRUE(failsWith(open("grpc://0.0.0.0:0?token=" + file("token") + "&cert=" + file("ours.pem"), true), ErrorKind::InvalidArgument,
                        "given together or not at all"));
}

/// A runner whose URI says who listens.
class GrpcRunner : public GrpcPlaceTest {};

TEST_F(GrpcRunner, CompilerAndLearnerSpeakWhicheverListens) {
  listen();
  const std::string Free = Server->address();
  for (const bool CompilerListens : {false, true}) {
    const std::string Uri = "grpc://" + Free + (CompilerListens ? "?server=compiler&serdes=json" : "?serdes=json");
    auto Compiled = std::async(std::launch::async, [&]() -> Expected<int64_t> {
      auto Runner = openRunner(Uri);
      if (!Runner)
        return Unexpected(Runner.error());
      auto Bound = (*Runner)->bind(smallSpec());
      std::ranges::fill((*Runner)->tensor<int8_t>(posetrl::orderer::action_mask), 1);
      return Bound ? (*Runner)->evaluate<int64_t>() : Unexpected(Bound.error());
    });
    if (CompilerListens)
      Server = open(Uri, false).value();
    LearnerEnd End(Server->connect(patience(), {}).value());
    ASSERT_TRUE(succeeds(End.hello({.Task = "posetrl", .Parameters = smallSpec().Parameters, .Serializer = "json"}, patience())));
    ASSERT_EQ(End.receive(patience()).value().Kind, FrameKind::Observation);
    ASSERT_TRUE(succeeds(End.advise(int64_t(2), patience())));
    EXPECT_EQ(Compiled.get().value(), 2);
    EXPECT_EQ(End.receive(patience()).value().Kind, FrameKind::Bye);
    Server.reset();
  }
}

} // namespace
} // namespace mlcb
