// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gRPC against a server and callers that speak HTTP/2 by hand: what a peer of this project would not do.
#include "Links.h"

#include <arpa/inet.h>
#include <atomic>
#include <fstream>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

namespace mlcb {
namespace {

using namespace test;
using namespace std::chrono_literals;

Expected<std::unique_ptr<GrpcRendezvous>> open(const std::string &Uri, bool Listens) { return openGrpc(Uri::parse(Uri), Listens); }

enum Frame : uint8_t { Data = 0, Headers = 1, Settings = 4, Ping = 6 };
enum Flag : uint8_t { Acknowledges = 1, EndsStream = 1, EndsHeaders = 4 };

std::string bigEndian(uint32_t Number, size_t Bytes) {
  std::string Text;
  for (size_t Left = Bytes; Left-- > 0;)
    Text += static_cast<char>(Number >> (8 * Left));
  return Text;
}

std::string frame(Frame Type, unsigned Flags, uint32_t Stream, const std::string &Payload) {
  return bigEndian(static_cast<uint32_t>(Payload.size()), 3) + static_cast<char>(Type) + static_cast<char>(Flags) + bigEndian(Stream, 4) + Payload;
}

std::string header(const std::string &Name, const std::string &Value) {
  return std::string(1, '\0') + static_cast<char>(Name.size()) + Name + static_cast<char>(Value.size()) + Value;
}

std::string message(const std::string &Bytes) { return std::string(1, '\0') + bigEndian(static_cast<uint32_t>(Bytes.size()), 4) + Bytes; }

const std::string Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const std::string Answer = header(":status", "200") + header("content-type", "application/grpc");

sockaddr_in loopback(int Port) {
  sockaddr_in Address{};
  Address.sin_family = AF_INET;
  Address.sin_port = htons(static_cast<uint16_t>(Port));
  Address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return Address;
}

void say(const FileDescriptor &To, const std::string &Bytes) {
  EXPECT_EQ(::write(To.get(), Bytes.data(), Bytes.size()), static_cast<ssize_t>(Bytes.size()));
}

/// What opens a stream; an episode's has a name.
std::string call(uint32_t Stream, const std::string &Name = "") {
  const std::string Always = header(":method", "POST") + header(":scheme", "http") + header(":path", "/mlcb.v1.Channel/Stream") +
                             header(":authority", "x") + header("te", "trailers") + header("content-type", "application/grpc");
  return frame(Headers, EndsHeaders, Stream, Name.empty() ? Always : Always + header("mlcb-stream", Name));
}

FileDescriptor connectTo(const GrpcRendezvous &Server) {
  FileDescriptor Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string Address = Server.address();
  const sockaddr_in There = loopback(std::stoi(Address.substr(Address.rfind(':') + 1)));
  EXPECT_EQ(::connect(Socket.get(), reinterpret_cast<const sockaddr *>(&There), sizeof There), 0);
  return Socket;
}

/// Connects to that server, and says that it speaks HTTP/2.
FileDescriptor connectByHand(const GrpcRendezvous &Server) {
  FileDescriptor Socket = connectTo(Server);
  say(Socket, Preface + frame(Settings, 0, 0, ""));
  return Socket;
}

/// Opens a session with that server.
FileDescriptor callByHand(const GrpcRendezvous &Server) {
  FileDescriptor Socket = connectByHand(Server);
  say(Socket, call(1));
  return Socket;
}

TEST(GrpcName, ThatIsTooLongEndsTheStream) {
  std::byte One[1];
  for (const auto &[Size, Kind] : {std::pair(64, ErrorKind::Timeout), std::pair(65, ErrorKind::PeerGone), std::pair(9000, ErrorKind::PeerGone)}) {
    const auto Server = open("grpc://127.0.0.1:0", true).value();
    const FileDescriptor Caller = callByHand(*Server);
    const auto Theirs = Server->connect(patience(), {}).value();
    say(Caller, frame(Data, 0, 1, message("") + message(std::string(static_cast<size_t>(Size), 'n'))));
    EXPECT_TRUE(failsWith(Theirs->receive(One, after(0.3)), Kind, "")) << Size;
  }
}

/// Empty at the end.
std::string read(const FileDescriptor &From, size_t Size) {
  std::string Text(Size, '\0');
  return ::recv(From.get(), Text.data(), Size, MSG_WAITALL) == static_cast<ssize_t>(Size) ? Text : "";
}

struct Received {
  Frame Type;
  bool Acknowledged;
  uint32_t Stream;
  std::string Payload;
};

std::optional<Received> readFrame(const FileDescriptor &From) {
  const std::string Head = read(From, 9);
  if (Head.empty())
    return std::nullopt;
  const auto At = [&](size_t I) { return static_cast<uint32_t>(static_cast<unsigned char>(Head[I])); };
  return Received{static_cast<Frame>(At(3)), (At(4) & Acknowledges) != 0, At(5) << 24 | At(6) << 16 | At(7) << 8 | At(8),
                  read(From, At(0) << 16 | At(1) << 8 | At(2))};
}

/// Whether a stream is answered before the connection ends.
bool isAnswered(const FileDescriptor &Caller, uint32_t Stream) {
  auto Next = readFrame(Caller);
  while (Next && (Next->Type != Headers || Next->Stream != Stream))
    Next = readFrame(Caller);
  return Next.has_value();
}

/// Answers the calls of one client as it is told.
class ServerByHand {
public:
  using Answering = std::function<std::string(size_t Call, uint32_t Stream)>;

  explicit ServerByHand(Answering How) : How(std::move(How)) {
    sockaddr_in Here = loopback(0);
    socklen_t Size = sizeof Here;
    EXPECT_EQ(::bind(Listening.get(), reinterpret_cast<const sockaddr *>(&Here), Size), 0);
    EXPECT_EQ(::listen(Listening.get(), 1), 0);
    EXPECT_EQ(::getsockname(Listening.get(), reinterpret_cast<sockaddr *>(&Here), &Size), 0);
    Uri = "grpc://127.0.0.1:" + std::to_string(ntohs(Here.sin_port));
    Serving = std::thread([this] { serve(FileDescriptor(::accept(Listening.get(), nullptr, nullptr))); });
  }
  ~ServerByHand() {
    ::shutdown(Listening.get(), SHUT_RDWR);
    Serving.join();
  }

  std::string Uri;
  std::atomic<size_t> Calls = 0;

private:
  void serve(const FileDescriptor &Client) {
    const auto Write = [&](const std::string &Text) { (void)!::write(Client.get(), Text.data(), Text.size()); };
    Write(frame(Settings, 0, 0, ""));
    if (read(Client, Preface.size()).empty())
      return;
    while (const auto Next = readFrame(Client)) {
      if (Next->Type == Headers)
        Write(How(Calls++, Next->Stream));
      else if ((Next->Type == Settings || Next->Type == Ping) && !Next->Acknowledged)
        Write(frame(Next->Type, Acknowledges, 0, Next->Type == Ping ? Next->Payload : ""));
    }
  }

  Answering How;
  FileDescriptor Listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::thread Serving;
};

TEST(GrpcRetry, OfAServerThatSaysItIsNotAvailablePauses) {
  ServerByHand There([](size_t, uint32_t Stream) { return frame(Headers, EndsHeaders | EndsStream, Stream, Answer + header("grpc-status", "14")); });
  EXPECT_TRUE(failsWith(open(There.Uri, false).value()->connect(after(0.5), {}), ErrorKind::Timeout, "nobody answered in time"));
  EXPECT_GE(There.Calls, 2U);
  EXPECT_LE(There.Calls, 4U);
}

/// The first call is taken, no other is answered.
TEST(GrpcLending, EndsAtTheDeadlineOfTheSendAndWhereItIsInterrupted) {
  ServerByHand There([](size_t Call, uint32_t Stream) {
    return Call == 0 ? frame(Headers, EndsHeaders, Stream, Answer + header("mlcb-answer", "1")) : std::string();
  });
  const auto Link = open(There.Uri, false).value()->connect(patience(), {}).value();
  const Ends Pair;
  const auto Begun = Clock::now();
  EXPECT_TRUE(failsWith(Link->send(bytes({1}), after(0.1), Pair.Theirs.get()), ErrorKind::Timeout, "nobody took the call in time"));
  Link->onWait([] { return true; });
  EXPECT_TRUE(failsWith(Link->send(bytes({1}), patience(), Pair.Theirs.get()), ErrorKind::Interrupted, "interrupted"));
  EXPECT_LT(Clock::now() - Begun, 5s);
}

/// gRPC would keep all of these calls, and answer nobody else before them.
TEST(GrpcStranger, WhoCallsWithoutEndIsCutOff) {
  const auto Server = open("grpc://127.0.0.1:0", true).value();
  const FileDescriptor Caller = connectByHand(*Server);
  bool Sent = true;
  for (uint32_t Stream = 1; Sent && Stream < 1 << 20; Stream += 2) {
    const std::string Call = call(Stream, "episode");
    Sent = ::send(Caller.get(), Call.data(), Call.size(), MSG_NOSIGNAL) > 0;
  }
  EXPECT_FALSE(Sent);
  const FileDescriptor Other = callByHand(*Server);
  EXPECT_TRUE(succeeds(Server->connect(after(1), {})));
}

/// Neither gRPC nor anybody else reads what is more than a greeting.
TEST(GrpcStranger, WhoSaysMuchBeforeItIsAnsweredIsReset) {
  const auto Server = open("grpc://127.0.0.1:0", true).value();
  for (const auto &[Bytes, Sent] : {std::pair<size_t, ssize_t>(1 << 10, 1), std::pair<size_t, ssize_t>(8 << 10, -1)}) {
    const FileDescriptor Caller = connectTo(*Server);
    say(Caller, Preface + frame(Settings, 0, 0, "") + frame(Data, 0, 0, std::string(Bytes, 'x')));
    char One;
    EXPECT_EQ(::recv(Caller.get(), &One, 1, 0), Sent) << Bytes;
  }
}

TEST(GrpcStranger, WhoGoesOnCallingWithoutTheTokenIsReset) {
  const std::string Token = ::testing::TempDir() + "token-of-strangers";
  std::ofstream(Token) << "secret\n";
  ASSERT_EQ(::chmod(Token.c_str(), 0600), 0);
  const auto Server = open("grpc://127.0.0.1:0?token=" + Token, true).value();
  const FileDescriptor Caller = connectByHand(*Server);
  for (uint32_t Call = 1; Call <= 3; ++Call) {
    say(Caller, call(2 * Call - 1));
    EXPECT_TRUE(isAnswered(Caller, 2 * Call - 1)) << Call;
  }
  say(Caller, call(7));
  while (readFrame(Caller))
    continue; // without end, or the answer
  char One;
  EXPECT_LE(::recv(Caller.get(), &One, 1, 0), 0);
}

TEST(GrpcLending, OfAnotherConnectionIsNotTaken) {
  const auto Server = open("grpc://127.0.0.1:0", true).value();
  const FileDescriptor Announces = callByHand(*Server);
  const auto Theirs = Server->connect(patience(), {}).value();
  const FileDescriptor Other = callByHand(*Server);
  const auto Others = Server->connect(patience(), {}).value();
  for (const auto &[Opener, Name] : {std::pair(&Announces, "own"), std::pair(&Other, "another's")}) {
    say(*Opener, call(3, Name));
    ASSERT_TRUE(isAnswered(*Opener, 3)) << Name;
    say(Announces, frame(Data, 0, 1, message("") + message(Name) + message("x")));
    ASSERT_TRUE(succeeds(receiveText(*Theirs, 1))) << Name;
    EXPECT_EQ(Theirs->takeAttached().get() >= 0, Opener == &Announces) << Name;
  }
}

} // namespace
} // namespace mlcb
