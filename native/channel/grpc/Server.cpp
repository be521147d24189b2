// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end that is called.
#include "channel/grpc/Ends.h"

#include "channel/FdChannel.h"
#include "channel/Pump.h"
#include "channel/grpc/Acceptor.h"
#include "channel/grpc/GrpcChannel.h"

#include <atomic>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <map>

namespace mlcb {
namespace {

constexpr size_t MaxWaiting = 256; // calls that nobody took yet
constexpr int HandshakeMilliseconds = 20'000;

class Exchange;

class ServerStream final : public Stream {
public:
  ServerStream(Driver &Works, Exchange &Owner) : Stream(Works), Owner(Owner) {}

  /// One for the next caller.
  static void expect(Driver &Works, Exchange &Owner, grpc::AsyncGenericService &Service, grpc::ServerCompletionQueue &Queue);

  /// Answers the caller; false where it is gone.
  bool answer() {
    const bool May = mayTake();
    if (May) {
      Context.AddInitialMetadata(AnswerHeader, "1");
      Line.SendInitialMetadata(Taken.begin());
    }
    return May;
  }

  void refuse(grpc::StatusCode Code, const char *Why) {
    markFinished();
    Line.Finish({Code, Why}, Finish.begin());
  }

  std::string header(const char *Name) const {
    const auto Found = Context.client_metadata().find(Name);
    return Found == Context.client_metadata().end() ? "" : std::string(Found->second.data(), Found->second.size());
  }
  const std::string &method() const { return Context.method(); }
  std::string peer() const { return Context.peer(); }

  /// Counts among the streams of its connection from here on.
  void enter(Visit Counted) { Place = std::move(Counted); }
  const Visit &place() const { return Place; }

  using Stream::listen;
  using Stream::makeBells;

private:
  void onCalled(bool Ok);
  void onEnd(bool) {
    if (Context.IsCancelled())
      onBroken();
  }
  void startRead(grpc::ByteBuffer *Into) override { Line.Read(Into, Read.begin()); }
  void startWrite(const grpc::ByteBuffer *From) override { Line.Write(*From, Written.begin()); }
  void finish() override { Line.Finish(grpc::Status::OK, Finish.begin()); }
  void cancel() override { Context.TryCancel(); }
  bool readsToTheEnd() const override { return false; }
  void onHeard() override { Place.hear(); }

  Visit Place;
  Exchange &Owner;
  grpc::GenericServerContext Context;
  grpc::GenericServerAsyncReaderWriter Line{&Context};
  Doing Called{*this, static_cast<void (Stream::*)(bool)>(&ServerStream::onCalled)};
  Doing End{*this, static_cast<void (Stream::*)(bool)>(&ServerStream::onEnd)};
};

/// In a time that does not tell how much of it is right.
bool same(std::string_view A, std::string_view B) {
  unsigned Differs = A.size() != B.size();
  for (size_t I = 0; I < std::min(A.size(), B.size()); ++I)
    Differs |= static_cast<unsigned>(A[I] ^ B[I]);
  return Differs == 0;
}

class Exchange final : public Connection, public std::enable_shared_from_this<Exchange> {
public:
  explicit Exchange(const GrpcPlace &Place) : Token(Place.Token), Bounds(Place.Bounds), Door(Place.Bounds) {}
  ~Exchange() override;

  /// The port.
  Expected<int> open(const GrpcPlace &Place);

  /// The next caller, answered; null at the deadline.
  Expected<std::shared_ptr<Stream>> next(Deadline Until, const InterruptCheck &Interrupted);

  FileDescriptor collect(const std::string &Name, const Stream &Announcing) override;

  void arrive(std::shared_ptr<ServerStream> New);
  size_t refused() const { return Refused; }
  void expect() { ServerStream::expect(*Works, *this, Service, *Queue); }

private:
  std::shared_ptr<ServerStream> first();
  std::shared_ptr<ServerStream> takeLent(const std::string &Name, const ServerStream &Announcing);
  void refuse(ServerStream &New, grpc::StatusCode Code, const char *Why) {
    ++Refused;
    New.refuse(Code, Why);
  }
  const char *admit(ServerStream &New, bool IsSession);
  bool isFull();

  std::string Token;
  GrpcBounds Bounds;
  std::atomic<size_t> Refused = 0;
  std::mutex Lock;
  Bell Called;
  std::deque<std::shared_ptr<ServerStream>> Callers;
  std::map<std::string, std::shared_ptr<ServerStream>> Lent;
  grpc::AsyncGenericService Service;
  grpc::ServerCompletionQueue *Queue = nullptr; // the driver's
  std::unique_ptr<grpc::Server> Server;
  std::unique_ptr<Driver> Works;
  Acceptor Door;
};

void ServerStream::expect(Driver &Works, Exchange &Owner, grpc::AsyncGenericService &Service, grpc::ServerCompletionQueue &Queue) {
  auto New = std::make_shared<ServerStream>(Works, Owner);
  New->begin(New);
  New->Context.AsyncNotifyWhenDone(New->End.begin());
  Service.RequestCall(&New->Context, &New->Line, &Queue, &Queue, New->Called.begin());
}

void ServerStream::onCalled(bool Ok) {
  if (!Ok)
    return drop(); // the server is closed, and nothing else will be done
  Owner.expect();
  Owner.arrive(std::static_pointer_cast<ServerStream>(self()));
}

std::shared_ptr<grpc::ServerCredentials> credentials(const GrpcPlace &Place) {
  if (!Place.isEncrypted())
    return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions Options(Place.Authority.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                                    : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  Options.pem_root_certs = Place.Authority;
  Options.pem_key_cert_pairs.push_back({Place.Key, Place.Certificate});
  return grpc::SslServerCredentials(Options);
}

Expected<int> Exchange::open(const GrpcPlace &Place) {
  auto Port = Door.listen(Place.Address);
  if (!Port)
    return Port;
  grpc::ServerBuilder Builder;
  auto Accepted = Builder.experimental().AddExternalConnectionAcceptor(grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
                                                                       credentials(Place));
  for (const auto &[Name, Value] : commonArguments())
    Builder.AddChannelArgument(Name, Value);
  Builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, HandshakeMilliseconds);
  Builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(2 * (Bounds.Episodes + 1))); // those that are about to be closed too
  Builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000);
  Builder.RegisterAsyncGenericService(&Service);
  auto Made = Builder.AddCompletionQueue();
  Queue = Made.get();
  Server = Builder.BuildAndStart();
  Works = std::make_unique<Driver>(std::move(Made));
  if (!Server)
    return fail(ErrorKind::SystemError, "cert and key do not fit");
  if (auto Started = Works->start(); !Started)
    return Unexpected(Started.error());
  expect();
  return Door.start(std::move(Accepted)).map([&] { return *Port; });
}

Exchange::~Exchange() {
  if (!Works)
    return;
  Door.stop();
  Works->delegate();
  if (Server)
    Server->Shutdown(std::chrono::system_clock::now()); // no channel is left
  Works->waitForStreams();
}

void Exchange::arrive(std::shared_ptr<ServerStream> New) {
  if (New->method() != GrpcMethod)
    return refuse(*New, grpc::StatusCode::UNIMPLEMENTED, "no such method");
  if (!same(New->header(TokenHeader), Token)) {
    Door.refuse(New->peer());
    return refuse(*New, grpc::StatusCode::UNAUTHENTICATED, "the server expects another token: its own, by token=FILE or MLCB_TOKEN_FILE");
  }
  const std::string Name = New->header(NameHeader);
  const std::scoped_lock Held(Lock);
  if (const char *Why = admit(*New, Name.empty()))
    return refuse(*New, grpc::StatusCode::RESOURCE_EXHAUSTED, Why);
  New->listen();
  if (!Name.empty() && New->answer())
    Lent[Name] = New;
  if (!Name.empty())
    return;
  Callers.push_back(std::move(New));
  Called.ring();
}

/// Counts it; the reason where there is no place for it.
const char *Exchange::admit(ServerStream &New, bool IsSession) {
  const auto Caller = Door.find(New.peer());
  if (!Caller || !New.makeBells())
    return "the server has no descriptors left";
  if (isFull())
    return "too many calls wait at the server";
  if (!IsSession && !Caller->isInUse())
    return "an episode without a session";
  New.enter(Visit(Caller, IsSession));
  return nullptr;
}

bool Exchange::isFull() {
  std::erase_if(Callers, [](const auto &One) { return One->isOver(); });
  std::erase_if(Lent, [](const auto &One) { return One.second->isOver(); });
  return Callers.size() + Lent.size() >= MaxWaiting;
}

std::shared_ptr<ServerStream> Exchange::first() {
  const std::scoped_lock Held(Lock);
  while (!Callers.empty()) {
    auto First = std::move(Callers.front());
    Callers.pop_front();
    if (First->answer())
      return First;
  }
  return nullptr;
}

Expected<std::shared_ptr<Stream>> Exchange::next(Deadline Until, const InterruptCheck &Interrupted) {
  for (;;) {
    auto Ready = Works->wait(Lock, Called, [this] { return !Callers.empty(); }, Until, Interrupted);
    if (!Ready)
      return Unexpected(Ready.error());
    if (!*Ready)
      return nullptr;
    if (!Works->isDelegated())
      Works->work([] { return false; }, Clock::now()); // who called may have gone
    if (auto First = first())
      return First;
  }
}

/// Episodes are counted where they are opened: another connection's would be beyond the bound of this one.
std::shared_ptr<ServerStream> Exchange::takeLent(const std::string &Name, const ServerStream &Announcing) {
  const std::scoped_lock Held(Lock);
  const auto Found = Lent.find(Name);
  if (Found == Lent.end() || !Found->second->place().isBeside(Announcing.place()))
    return nullptr;
  return std::move(Lent.extract(Found).mapped());
}

FileDescriptor Exchange::collect(const std::string &Name, const Stream &Announcing) {
  auto Found = takeLent(Name, static_cast<const ServerStream &>(Announcing));
  auto Pair = socketPair();
  if (!Found || !Pair)
    return {};
  if (Found->place().exceeds(Bounds.Episodes)) { // closed at both ends, before it says anything
    Found->hangUp(Clock::now());
    return std::move(Pair->second);
  }
  auto Carried = pump(socketChannel(std::move(Pair->first)), grpcChannel(std::move(Found), shared_from_this()));
  return Carried ? std::move(Pair->second) : FileDescriptor();
}

class Listener final : public GrpcRendezvous {
public:
  Listener(std::shared_ptr<Exchange> Open, std::string Address) : Open(std::move(Open)), Address(std::move(Address)) {}

  std::string address() const override { return Address; }
  size_t refused() const override { return Open->refused(); }

  Expected<std::unique_ptr<Channel>> connect(Deadline Until, const InterruptCheck &Interrupted) override {
    auto Caller = Open->next(Until, Interrupted);
    if (!Caller)
      return Unexpected(Caller.error());
    if (!*Caller)
      return fail(ErrorKind::Timeout, "nobody called grpc://" + Address + " in time");
    return grpcChannel(std::move(*Caller), Open);
  }

private:
  std::shared_ptr<Exchange> Open; // as long as there are channels
  std::string Address;
};

} // namespace

Expected<std::unique_ptr<GrpcRendezvous>> grpcServer(const GrpcPlace &Place) {
  auto Open = std::make_shared<Exchange>(Place);
  const auto Port = Open->open(Place);
  if (!Port)
    return fail(ErrorKind::SystemError, "cannot listen at grpc://" + Place.Address + ": " + Port.error().Message);
  return std::make_unique<Listener>(std::move(Open), Place.Address.substr(0, Place.Address.rfind(':') + 1) + std::to_string(*Port));
}

} // namespace mlcb
