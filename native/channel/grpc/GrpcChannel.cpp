// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/grpc/GrpcChannel.h"

#include "channel/FdChannelBase.h"

#include <fcntl.h>

namespace mlcb {
namespace {

constexpr double FarewellSeconds = 1; // for the other end to take the last words

class GrpcChannel final : public FdChannelBase {
public:
  GrpcChannel(std::shared_ptr<Stream> Line, std::shared_ptr<Connection> Owner)
      : FdChannelBase(false), Owner(std::move(Owner)), Line(std::move(Line)) { // gRPC polls by itself
    this->Line->driver().addChannel();
  }
  ~GrpcChannel() override {
    Line->hangUp(after(FarewellSeconds));
    Line->driver().removeChannel();
  }

  int fileno() const override { return Line->fileno(); }
  Expected<bool> readable(Deadline Until) override { return Line->waitToTake(Until, Interrupted); }

  FileDescriptor takeAttached() override {
    const auto Name = Line->takeName();
    return Name ? Owner->collect(*Name, *Line) : FileDescriptor();
  }

private:
  Expected<bool> writable(Deadline Until) override { return Line->waitToPut(Until, Interrupted); }
  Expected<size_t> tryReceive(std::span<std::byte> Into) override { return Line->take(Into); }

  Expected<size_t> trySend(std::span<const ByteSpan> Pieces, int Attach) override {
    if (Attach < 0)
      return Line->put(Pieces, {});
    if (Lent.empty()) {
      auto Name = Owner->lend(FileDescriptor(::fcntl(Attach, F_DUPFD_CLOEXEC, 0)), SendUntil, Interrupted);
      if (!Name)
        return Unexpected(Name.error());
      Lent = std::move(*Name);
    }
    auto Sent = Line->put(Pieces, Lent);
    if (Sent && *Sent > 0)
      Lent.clear();
    return Sent;
  }

  std::shared_ptr<Connection> Owner; // outlives the stream
  std::shared_ptr<Stream> Line;
  std::string Lent; // and not announced yet
};

} // namespace

Expected<std::string> Connection::lend(const FileDescriptor &, Deadline, const InterruptCheck &) {
  return fail(ErrorKind::InvalidArgument, "a gRPC server's end carries no descriptors");
}

FileDescriptor Connection::collect(const std::string &, const Stream &) { return {}; }

std::unique_ptr<Channel> grpcChannel(std::shared_ptr<Stream> Line, std::shared_ptr<Connection> Owner) {
  return std::make_unique<GrpcChannel>(std::move(Line), std::move(Owner));
}

} // namespace mlcb
