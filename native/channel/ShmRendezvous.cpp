// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/ShmRendezvous.h"

#include "channel/FdChannel.h"
#include "channel/ShmChannel.h"
#include "channel/Wait.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace mlcb {
namespace {

constexpr std::byte Greeting[1]{};

Expected<sockaddr_un> addressOf(const std::string &Path) {
  sockaddr_un Address{};
  Address.sun_family = AF_UNIX;
  if (Path.empty() || Path.size() >= sizeof Address.sun_path)
    return fail(ErrorKind::InvalidArgument,
                "the path of a socket has 1 to " + std::to_string(sizeof Address.sun_path - 1) + " bytes, not '" + Path + "'");
  std::ranges::copy(Path, Address.sun_path);
  return Address;
}

Expected<FileDescriptor> makeSocket(int Type = SOCK_STREAM) {
  FileDescriptor Socket(::socket(AF_UNIX, Type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return Socket ? Expected<FileDescriptor>(std::move(Socket)) : failErrno("socket");
}

/// Calls ::bind or ::connect.
template <class Fn> bool at(const sockaddr_un &Address, Fn Call, const FileDescriptor &Socket) {
  return Call(Socket.get(), reinterpret_cast<const sockaddr *>(&Address), sizeof Address) == 0;
}

/// Whether the path is a socket at which nobody listens. Asked with another type of socket, which a listener never hears of: it would
/// take us for its compiler.
bool isLeftOver(const sockaddr_un &Address) {
  struct stat Status;
  if (::lstat(Address.sun_path, &Status) != 0 || !S_ISSOCK(Status.st_mode))
    return false;
  auto Probe = makeSocket(SOCK_DGRAM);
  return Probe && !at(Address, ::connect, *Probe) && errno == ECONNREFUSED;
}

bool bindTo(const sockaddr_un &Address, const FileDescriptor &Socket) {
  ::fchmod(Socket.get(), 0600); // the mode of the path, from its first moment on
  if (at(Address, ::bind, Socket))
    return true;
  if (errno != EADDRINUSE)
    return false;
  if (isLeftOver(Address))
    return ::unlink(Address.sun_path) == 0 && at(Address, ::bind, Socket);
  errno = EADDRINUSE; // not what was said to the probe
  return false;
}

/// Makes the memory and hands it over.
Expected<std::unique_ptr<Channel>> offer(std::unique_ptr<Channel> Socket, Deadline Until) {
  auto Memory = makeRings();
  if (!Memory)
    return Unexpected(Memory.error());
  auto Shared = mapRings(*Memory);
  if (!Shared)
    return Unexpected(Shared.error());
  if (auto Sent = Socket->send(Greeting, Until, Memory->get()); !Sent)
    return Unexpected(Sent.error());
  Rings &Both = **Shared;
  return shmChannel(std::move(*Shared), Both.ToLearner, Both.ToCompiler, std::move(Socket));
}

Expected<std::unique_ptr<Channel>> accept(std::unique_ptr<Channel> Socket, Deadline Until) {
  std::byte Greeted[sizeof Greeting];
  if (auto Got = Socket->receive(Greeted, Until); !Got)
    return Unexpected(Got.error());
  auto Shared = mapRings(Socket->takeAttached());
  if (!Shared)
    return Unexpected(Shared.error());
  Rings &Both = **Shared;
  return shmChannel(std::move(*Shared), Both.ToCompiler, Both.ToLearner, std::move(Socket));
}

} // namespace

Expected<ShmListener> ShmListener::open(std::string Path) {
  auto Address = addressOf(Path);
  if (!Address)
    return Unexpected(Address.error());
  auto Socket = makeSocket();
  if (!Socket)
    return Unexpected(Socket.error());
  if (!bindTo(*Address, *Socket))
    return failErrno(Path);
  ShmListener Listener(std::move(*Socket), std::move(Path));
  if (::listen(Listener.Socket.get(), 1) != 0)
    return failErrno(Listener.Path);
  return Listener;
}

ShmListener::ShmListener(FileDescriptor Socket, std::string Path) : Socket(std::move(Socket)), Path(std::move(Path)), Bound(fileAt(this->Path)) {}

ShmListener::Identity ShmListener::fileAt(const std::string &Path) {
  struct stat Status{};
  ::lstat(Path.c_str(), &Status);
  return {Status.st_dev, Status.st_ino};
}

/// The path goes before nobody listens there any more, for then another may take it; and stays where another has put its own there.
ShmListener::~ShmListener() {
  if (Socket && fileAt(Path) == Bound)
    ::unlink(Path.c_str());
}

Expected<std::unique_ptr<Channel>> ShmListener::connect(Deadline Until, const InterruptCheck &Interrupted) {
  for (;;) {
    auto Called = waitFor(Socket.get(), POLLIN, Until, Interrupted);
    if (!Called)
      return Unexpected(Called.error());
    if (!*Called)
      return fail(ErrorKind::Timeout, "nobody connected to " + Path + " in time");
    FileDescriptor Peer(::accept4(Socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (Peer)
      return offer(socketChannel(std::move(Peer)), Until);
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
      return failErrno(Path);
  }
}

Expected<std::unique_ptr<Channel>> connectShm(const std::string &Path, Deadline Until, const InterruptCheck &Interrupted) {
  auto Address = addressOf(Path);
  if (!Address)
    return Unexpected(Address.error());
  for (;;) {
    auto Socket = makeSocket();
    if (!Socket)
      return Unexpected(Socket.error());
    if (at(*Address, ::connect, *Socket)) {
      auto Link = socketChannel(std::move(*Socket));
      Link->onWait(Interrupted);
      return accept(std::move(Link), Until);
    }
    if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
      return failErrno(Path);
    auto More = pauseUntil(Until, Interrupted);
    if (!More)
      return Unexpected(More.error());
    if (!*More)
      return fail(ErrorKind::Timeout, "nobody listened at " + Path + " in time");
  }
}

} // namespace mlcb
