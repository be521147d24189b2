// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end that calls.
#include "channel/grpc/Ends.h"

#include "channel/FdChannel.h"
#include "channel/Pump.h"
#include "channel/Wait.h"
#include "channel/grpc/GrpcChannel.h"

#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <sys/random.h>

namespace mlcb {
namespace {

using namespace std::chrono_literals;

// As gRPC's own between attempts to connect: a server may say by itself that it is not available.
constexpr Clock::duration FirstPause = 100ms, LongestPause = 2s;
constexpr double LendSeconds = 10;
constexpr double ReasonSeconds = 0.5;

int milliseconds(Clock::duration Time) { return static_cast<int>(Time / 1ms); }

class ClientStream final : public Stream {
public:
  using Stream::Stream;

  static Expected<std::shared_ptr<ClientStream>> call(grpc::GenericStub &Stub, Driver &Works, const std::string &Token, const std::string &Name) {
    auto New = std::make_shared<ClientStream>(Works);
    if (!New->makeBells())
      return failErrno("a call cannot be made");
    if (!Token.empty())
      New->Context.AddMetadata(TokenHeader, Token);
    if (!Name.empty())
      New->Context.AddMetadata(NameHeader, Name);
    New->Line = Stub.PrepareCall(&New->Context, GrpcMethod, &Works.queue());
    New->begin(New);
    New->Line->StartCall(New->Started.begin());
    return New;
  }

private:
  void onWritesDone(bool) {}
  void onStarted(bool) { Line->ReadInitialMetadata(Metadata.begin()); } // which fails where this did
  void onMetadata(bool Ok) { onAnswered(Ok && Context.GetServerInitialMetadata().contains(AnswerHeader)); }
  void startRead(grpc::ByteBuffer *Into) override { Line->Read(Into, Read.begin()); }
  void startWrite(const grpc::ByteBuffer *From) override { Line->Write(*From, Written.begin()); }
  void cancel() override { Context.TryCancel(); }
  bool readsToTheEnd() const override { return true; } // its status comes after all messages
  void finish() override {
    if (!isOver())
      Line->WritesDone(Ended.begin());
    Line->Finish(&How, Finish.begin());
  }

  grpc::ClientContext Context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> Line;
  Doing Started{*this, static_cast<void (Stream::*)(bool)>(&ClientStream::onStarted)};
  Doing Metadata{*this, static_cast<void (Stream::*)(bool)>(&ClientStream::onMetadata)};
  Doing Ended{*this, static_cast<void (Stream::*)(bool)>(&ClientStream::onWritesDone)};
};

/// Of 128 random bits: who knows it may have the stream.
Expected<std::string> newName() {
  unsigned char Bits[16];
  if (::getrandom(Bits, sizeof Bits, 0) != sizeof Bits)
    return failErrno("getrandom");
  std::string Name;
  for (const unsigned char Byte : Bits)
    for (const unsigned Digit : {Byte / 16U, Byte % 16U})
      Name += "0123456789abcdef"[Digit];
  return Name;
}

class Client final : public GrpcRendezvous, public Connection, public std::enable_shared_from_this<Client> {
public:
  explicit Client(const GrpcPlace &Place)
      : Address(Place.Address), Token(Place.Token), Line(grpc::CreateCustomChannel(Address, credentials(Place), arguments(Place))), Stub(Line),
        Works(std::make_unique<grpc::CompletionQueue>()) {}
  ~Client() override { Works.waitForStreams(); }

  Expected<void> start() { return Works.start(); }

  std::string address() const override { return Address; }

  Expected<std::unique_ptr<Channel>> connect(Deadline Until, const InterruptCheck &Interrupted) override {
    auto Called = call({}, Until, Interrupted);
    return Called ? Expected<std::unique_ptr<Channel>>(grpcChannel(std::move(*Called), shared_from_this())) : Unexpected(Called.error());
  }

  Expected<std::string> lend(const FileDescriptor &Lent, Deadline Until, const InterruptCheck &Interrupted) override;

private:
  static std::shared_ptr<grpc::ChannelCredentials> credentials(const GrpcPlace &Place) {
    if (!Place.isEncrypted())
      return grpc::InsecureChannelCredentials();
    return grpc::SslCredentials({Place.Authority, Place.Key, Place.Certificate});
  }

  static grpc::ChannelArguments arguments(const GrpcPlace &Place);
  Expected<std::shared_ptr<ClientStream>> call(const std::string &Name, Deadline Until, const InterruptCheck &Interrupted);
  Expected<void> reach(Deadline Until, const InterruptCheck &Interrupted);
  Error why(const grpc::Status &How) const;
  Error unreached();

  std::string Address, Token;
  std::shared_ptr<grpc::Channel> Line;
  grpc::GenericStub Stub;
  Driver Works;
};

grpc::ChannelArguments Client::arguments(const GrpcPlace &Place) {
  grpc::ChannelArguments Result;
  for (const auto &[Name, Value] : commonArguments())
    Result.SetInt(Name, Value);
  Result.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, milliseconds(FirstPause));
  Result.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000); // what one attempt may take
  Result.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(LongestPause));
  Result.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  Result.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, !Place.Loopback);
  Result.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return Result;
}

/// The error of a call that was never established.
Error Client::why(const grpc::Status &How) const {
  const std::string There = "grpc://" + Address + ": ";
  if (How.error_code() == grpc::StatusCode::UNAVAILABLE || How.error_code() == grpc::StatusCode::CANCELLED)
    return {ErrorKind::Timeout, There + "nobody answered in time: " + How.error_message()};
  if (How.error_code() == grpc::StatusCode::UNIMPLEMENTED)
    return {ErrorKind::ProtocolError, There + "the server does not speak this protocol"};
  if (How.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED)
    return {ErrorKind::SystemError, There + How.error_message()};
  return {ErrorKind::PeerError, There + How.error_message()};
}

/// Why there is no connection. A call says it at once where an attempt has failed; while one is under way nothing is known.
Error Client::unreached() {
  Error Unknown{ErrorKind::Timeout, "grpc://" + Address + ": nobody answered in time"};
  if (Line->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE)
    return Unknown;
  const auto Failed = ClientStream::call(Stub, Works, {}, {});
  if (!Failed)
    return Failed.error();
  (void)(*Failed)->waitForAnswer(after(ReasonSeconds), {});
  const auto Ended = (*Failed)->status();
  if (!Ended)
    (*Failed)->hangUp(Clock::now());
  return Ended ? why(*Ended) : Unknown;
}

/// Waits for the connection, which gRPC tries again and again, at longer and longer intervals.
Expected<void> Client::reach(Deadline Until, const InterruptCheck &Interrupted) {
  for (;;) {
    const auto Slice = std::min<Deadline>(Until, Clock::now() + 100ms) - Clock::now();
    const auto Wall = std::chrono::system_clock::now() + Slice;
    if (Line->WaitForConnected(Wall))
      return {};
    if (Interrupted && Interrupted())
      return fail(ErrorKind::Interrupted, "the wait was interrupted");
    if (Clock::now() < Until)
      continue;
    return Unexpected(unreached());
  }
}

Expected<std::shared_ptr<ClientStream>> Client::call(const std::string &Name, Deadline Until, const InterruptCheck &Interrupted) {
  for (auto Pause = FirstPause;; Pause = std::min<Clock::duration>(2 * Pause, LongestPause)) {
    if (auto Reached = reach(Until, Interrupted); !Reached)
      return Unexpected(Reached.error());
    auto Called = ClientStream::call(Stub, Works, Token, Name);
    if (!Called)
      return Called;
    const auto Answered = (*Called)->waitForAnswer(Until, Interrupted);
    const auto Ended = (*Called)->status();
    if (Answered && *Answered && (!Ended || Ended->ok()))
      return Called; // which may be over already
    (*Called)->hangUp(Clock::now());
    if (!Answered)
      return Unexpected(Answered.error());
    if (!*Answered)
      return fail(ErrorKind::Timeout, "grpc://" + Address + ": nobody took the call in time");
    if (Ended->error_code() != grpc::StatusCode::UNAVAILABLE)
      return Unexpected(why(*Ended));
    if (auto Paused = waitFor(-1, 0, std::min<Deadline>(Until, Clock::now() + Pause), Interrupted); !Paused)
      return Unexpected(Paused.error());
    if (Clock::now() >= Until)
      return Unexpected(why(*Ended));
  }
}

/// The stream is there before its name is: the other end need not wait for it.
Expected<std::string> Client::lend(const FileDescriptor &Lent, Deadline Until, const InterruptCheck &Interrupted) {
  auto Name = newName();
  if (!Name)
    return Name;
  auto Beside = call(*Name, std::min(Until, after(LendSeconds)), Interrupted);
  if (!Beside)
    return Unexpected(Beside.error());
  FileDescriptor Kept(::fcntl(Lent.get(), F_DUPFD_CLOEXEC, 0));
  if (!Kept)
    return failErrno("a descriptor cannot be lent");
  return pump(socketChannel(std::move(Kept)), grpcChannel(std::move(*Beside), shared_from_this())).map([&] { return *Name; });
}

/// Hands on to a client that the channels share.
class ClientRendezvous final : public GrpcRendezvous {
public:
  explicit ClientRendezvous(std::shared_ptr<Client> Shared) : Shared(std::move(Shared)) {}
  std::string address() const override { return Shared->address(); }
  Expected<std::unique_ptr<Channel>> connect(Deadline Until, const InterruptCheck &Interrupted) override {
    return Shared->connect(Until, Interrupted);
  }

private:
  std::shared_ptr<Client> Shared;
};

} // namespace

Expected<std::unique_ptr<GrpcRendezvous>> grpcClient(const GrpcPlace &Place) {
  auto Shared = std::make_shared<Client>(Place);
  return Shared->start().map([&]() -> std::unique_ptr<GrpcRendezvous> { return std::make_unique<ClientRendezvous>(std::move(Shared)); });
}

} // namespace mlcb
