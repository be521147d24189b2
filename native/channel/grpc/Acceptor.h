// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accepts connections for gRPC, whose own listener is deaf for ever once descriptors ran out.
#pragma once

#include "channel/GrpcModule.h"
#include "channel/Thread.h"
#include "channel/grpc/Visitor.h"

#include <grpcpp/server_builder.h>
#include <map>
#include <mutex>
#include <optional>
#include <poll.h>
#include <span>
#include <vector>

namespace mlcb {

/// A thread that accepts, bounds the number of connections, and closes those that say nothing, or much before they are answered or have a session:
/// gRPC would keep every call that it reads. Where there are too many, the oldest one without a session makes room.
class Acceptor {
public:
  explicit Acceptor(const GrpcBounds &Bounds) : Bounds(Bounds) {}
  ~Acceptor() { stop(); }

  /// Binds; returns the port, the one it was given for 0.
  Expected<int> listen(const std::string &Address);

  /// Accepts from here on, for a server that has started.
  Expected<void> start(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> Into);
  void stop();

  /// The connection of a peer, by gRPC's name for it; null where it is gone.
  std::shared_ptr<Visitor> find(const std::string &Peer);

  /// Counts a call without the token, by gRPC's name for its peer; who has made some is closed.
  void refuse(const std::string &Peer);

private:
  struct Connection {
    FileDescriptor Socket; // beside gRPC's own
    int From;              // where it was accepted
    std::string Peer;
    std::shared_ptr<Visitor> Counted;
    size_t Refused = 0;    // calls
    bool IsHanded = false; // to gRPC

    bool isWatched() const { return IsHanded && Counted->isStranger(); }
  };

  void run();
  void accept(int Listening);
  bool makeRoom();
  void keep(FileDescriptor Socket, int Listening);
  void greet(std::span<pollfd> Polled);
  bool hand(Connection &One);
  void dropGone(std::span<const pollfd> Polled);
  void dropSilent();
  void dropNoisy();
  bool hasStrangers() const;

  GrpcBounds Bounds;
  std::vector<FileDescriptor> Listening;
  FileDescriptor Stop;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> Into;
  std::mutex Lock;
  std::vector<Connection> Connections; // the oldest first
  bool Starved = false;                // of descriptors, when it last accepted
  std::optional<Thread> Running;       // last: it uses the rest
};

} // namespace mlcb
