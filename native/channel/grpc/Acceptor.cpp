// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/grpc/Acceptor.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace mlcb {
namespace {

using namespace std::chrono_literals;

constexpr auto SilentTime = 20s;              // for a connection to begin a session
constexpr int ShortestGreeting = 24;          // bytes of HTTP/2; TLS has more
constexpr int LongestGreeting = 4 << 10;      // before it was answered
constexpr uint32_t StrangersBytes = 32 << 10; // for a handshake, and to begin a session
constexpr size_t StrangersCalls = 4;          // without the token
constexpr int LookMilliseconds = 1000, StarvedMilliseconds = 50, StrangersMilliseconds = 10;
constexpr int Backlog = 512, AcceptedAtOnce = 64;
constexpr size_t MostConnections = 256, DescriptorsEach = 8; // its own two, and those of a session

/// So that descriptors are left for sessions, whatever the limit of this process.
size_t maxConnections() {
  rlimit Limit{};
  ::getrlimit(RLIMIT_NOFILE, &Limit);
  return std::clamp<size_t>(Limit.rlim_cur / DescriptorsEach, 2, MostConnections);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Expected<Addresses> resolve(const std::string &Address) {
  const size_t Colon = Address.rfind(':');
  std::string Host = Address.substr(0, Colon);
  if (Host.starts_with('['))
    Host = Host.substr(1, Host.size() - 2);
  addrinfo Hints{}, *Found = nullptr;
  Hints.ai_socktype = SOCK_STREAM;
  Hints.ai_flags = AI_PASSIVE;
  if (const int Failed = ::getaddrinfo(Host.c_str(), Address.c_str() + Colon + 1, &Hints, &Found))
    return fail(ErrorKind::SystemError, ::gai_strerror(Failed));
  return Addresses(Found, ::freeaddrinfo);
}

/// The port stands at the same place for both families.
in_port_t &portOf(sockaddr_storage &Address) { return reinterpret_cast<sockaddr_in &>(Address).sin_port; }

Expected<FileDescriptor> bindTo(const sockaddr_storage &Address, socklen_t Size) {
  FileDescriptor Socket(::socket(Address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!Socket)
    return failErrno("socket");
  const int One = 1;
  ::setsockopt(Socket.get(), SOL_SOCKET, SO_REUSEADDR, &One, sizeof One);
  ::setsockopt(Socket.get(), IPPROTO_TCP, TCP_NODELAY, &One, sizeof One); // the connections have it from here
  if (::bind(Socket.get(), reinterpret_cast<const sockaddr *>(&Address), Size) != 0 || ::listen(Socket.get(), Backlog) != 0)
    return failErrno("bind");
  return Socket;
}

int portOf(const FileDescriptor &Socket) {
  sockaddr_storage Own{};
  socklen_t Size = sizeof Own;
  ::getsockname(Socket.get(), reinterpret_cast<sockaddr *>(&Own), &Size);
  return ntohs(portOf(Own));
}

/// gRPC's name for a peer, without the brackets, escapes and zone that its versions write differently.
std::string plain(std::string_view Peer) {
  std::string Text;
  const size_t Colon = Peer.rfind(':');
  for (size_t I = 0; I < Peer.size();) {
    if (Peer.substr(I, 3) == "%25")
      I = Colon;
    else if (Peer[I] == '%')
      I += 3;
    else if (const char Next = Peer[I++]; Next != '[' && Next != ']')
      Text += Next;
  }
  return Text;
}

std::string nameOf(int Socket) {
  sockaddr_storage Peer{};
  socklen_t Size = sizeof Peer;
  if (::getpeername(Socket, reinterpret_cast<sockaddr *>(&Peer), &Size) != 0)
    return {};
  const auto &Six = reinterpret_cast<const sockaddr_in6 &>(Peer).sin6_addr;
  const bool IsFour = Peer.ss_family == AF_INET, IsMapped = !IsFour && IN6_IS_ADDR_V4MAPPED(&Six);
  const void *Bytes = IsFour ? static_cast<const void *>(&reinterpret_cast<const sockaddr_in &>(Peer).sin_addr) : &Six.s6_addr[IsMapped ? 12 : 0];
  char Text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(IsFour || IsMapped ? AF_INET : AF_INET6, Bytes, Text, sizeof Text);
  return std::string(IsFour || IsMapped ? "ipv4:" : "ipv6:") + Text + ":" + std::to_string(ntohs(portOf(Peer)));
}

bool saysMuch(int Socket) {
  tcp_info Told{};
  socklen_t Size = sizeof Told;
  return ::getsockopt(Socket, IPPROTO_TCP, TCP_INFO, &Told, &Size) == 0 && Told.tcpi_bytes_received > StrangersBytes;
}

/// Bytes that came and were not read.
int waitingIn(int Socket) {
  int Bytes = 0;
  return ::ioctl(Socket, FIONREAD, &Bytes) == 0 ? Bytes : 0;
}

/// As few bytes make it readable, or its end.
void wakeAt(int Socket, int Bytes) { ::setsockopt(Socket, SOL_SOCKET, SO_RCVLOWAT, &Bytes, sizeof Bytes); }

/// At once, with all that gRPC has not read yet.
void reset(int Socket) {
  const sockaddr Nobody{AF_UNSPEC, {}};
  if (::connect(Socket, &Nobody, sizeof Nobody) != 0)
    ::shutdown(Socket, SHUT_RDWR);
}

bool isShortage(int Number) { return Number == EMFILE || Number == ENFILE || Number == ENOBUFS || Number == ENOMEM; }

} // namespace

Expected<int> Acceptor::listen(const std::string &Address) {
  auto Found = resolve(Address);
  if (!Found)
    return Unexpected(Found.error());
  int Port = 0;
  for (const addrinfo *One = Found->get(); One; One = One->ai_next) {
    sockaddr_storage Place{};
    std::copy_n(reinterpret_cast<const char *>(One->ai_addr), One->ai_addrlen, reinterpret_cast<char *>(&Place));
    if (Port)
      portOf(Place) = htons(static_cast<uint16_t>(Port));
    auto Bound = bindTo(Place, One->ai_addrlen);
    if (!Bound && (errno == EADDRINUSE || (Listening.empty() && !One->ai_next)))
      return Unexpected(Bound.error());
    if (!Bound)
      continue; // a family that this machine does not have
    Port = portOf(*Bound);
    Listening.push_back(std::move(*Bound));
  }
  return Port;
}

Expected<void> Acceptor::start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> Taker) {
  Into = std::move(Taker);
  Stop.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!Stop)
    return failErrno("eventfd");
  auto Started = Thread::start([this] { run(); });
  return Started.map([&](Thread &New) { Running.emplace(std::move(New)); });
}

void Acceptor::stop() {
  if (Running)
    (void)::eventfd_write(Stop.get(), 1);
  Running.reset();
}

std::shared_ptr<Visitor> Acceptor::find(const std::string &Peer) {
  const std::string Wanted = plain(Peer);
  const std::scoped_lock Held(Lock);
  const auto Found = std::ranges::find(Connections, Wanted, &Connection::Peer);
  return Found == Connections.end() ? nullptr : Found->Counted;
}

void Acceptor::refuse(const std::string &Peer) {
  const std::string Wanted = plain(Peer);
  const std::scoped_lock Held(Lock);
  const auto Found = std::ranges::find(Connections, Wanted, &Connection::Peer);
  if (Found != Connections.end() && ++Found->Refused == StrangersCalls)
    reset(Found->Socket.get());
}

/// Connections are polled for how they begin, and then for their end alone. While descriptors are short it is only that and time that bring some back.
void Acceptor::run() {
  for (;;) {
    std::vector<pollfd> Watched{{Stop.get(), POLLIN, 0}};
    for (const FileDescriptor &One : Listening)
      Watched.push_back({Starved ? -1 : One.get(), POLLIN, 0});
    for (const Connection &One : Connections)
      Watched.push_back({One.Socket.get(), static_cast<short>(One.IsHanded ? 0 : POLLIN), 0});
    ::poll(Watched.data(), Watched.size(), hasStrangers() ? StrangersMilliseconds : Starved ? StarvedMilliseconds : LookMilliseconds);
    if (Watched.front().revents)
      return;
    const auto Polled = std::span(Watched).last(Connections.size());
    greet(Polled);
    dropGone(Polled);
    dropSilent();
    dropNoisy();
    Starved = false;
    for (const FileDescriptor &One : Listening)
      accept(One.get());
  }
}

void Acceptor::accept(int From) {
  for (int Turn = 0; Turn < AcceptedAtOnce && !Starved; ++Turn) {
    FileDescriptor Socket(::accept4(From, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!Socket && !isShortage(errno))
      return; // nobody else calls
    Starved = !Socket;
    const bool HasRoom = (Socket && Connections.size() < maxConnections()) || makeRoom();
    if (Socket && HasRoom)
      keep(std::move(Socket), From);
  }
}

/// False where every connection has a session.
bool Acceptor::makeRoom() {
  const std::scoped_lock Held(Lock);
  const auto Oldest = std::ranges::find_if(Connections, [](const Connection &One) { return !One.Counted->isInUse(); });
  if (Oldest == Connections.end())
    return false;
  ::shutdown(Oldest->Socket.get(), SHUT_RDWR); // which gRPC sees, and closes its own
  Connections.erase(Oldest);
  return true;
}

void Acceptor::keep(FileDescriptor Socket, int From) {
  wakeAt(Socket.get(), ShortestGreeting);
  std::string Name = nameOf(Socket.get());
  const std::scoped_lock Held(Lock);
  Connections.push_back({std::move(Socket), From, std::move(Name), std::make_shared<Visitor>()});
}

/// Hands those to gRPC that have begun. Who says much before it was answered, or ends, is left to `dropGone`.
void Acceptor::greet(std::span<pollfd> Polled) {
  for (size_t I = 0; I < Polled.size(); ++I) {
    Connection &One = Connections[I];
    if (One.IsHanded || Polled[I].revents != POLLIN)
      continue;
    const int Bytes = waitingIn(One.Socket.get());
    if (Bytes > LongestGreeting)
      reset(One.Socket.get());
    else if (Bytes >= ShortestGreeting && hand(One))
      Polled[I].revents = 0;
  }
}

bool Acceptor::hand(Connection &One) {
  FileDescriptor Own(::fcntl(One.Socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!Own) {
    Starved = true;
    return false;
  }
  wakeAt(Own.get(), 1);
  One.IsHanded = true;
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters New;
  New.listener_fd = One.From;
  New.fd = Own.release();
  Into->HandleNewConnection(&New);
  return true;
}

void Acceptor::dropGone(std::span<const pollfd> Polled) {
  const std::scoped_lock Held(Lock);
  auto Next = Polled.begin();
  std::erase_if(Connections, [&](const Connection &) { return (Next++)->revents != 0; });
}

void Acceptor::dropSilent() {
  const std::scoped_lock Held(Lock);
  std::erase_if(Connections, [&, Now = Clock::now()](const Connection &One) {
    const auto Idle = std::chrono::duration<double>(Now - One.Counted->lastHeard());
    const bool Late = One.Counted->isInUse() ? Bounds.IdleSeconds > 0 && Idle.count() > Bounds.IdleSeconds : Idle > SilentTime;
    if (Late)
      ::shutdown(One.Socket.get(), SHUT_RDWR);
    return Late;
  });
}

void Acceptor::dropNoisy() {
  const std::scoped_lock Held(Lock);
  std::erase_if(Connections, [](const Connection &One) {
    const bool Noisy = One.isWatched() && saysMuch(One.Socket.get());
    if (Noisy)
      reset(One.Socket.get());
    return Noisy;
  });
}

bool Acceptor::hasStrangers() const {
  return std::ranges::any_of(Connections, [](const Connection &One) { return One.isWatched(); });
}

} // namespace mlcb
