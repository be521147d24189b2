// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A gRPC stream as a channel. The client's end carries descriptors: bytes go on between them and streams beside this one.
#pragma once

#include "channel/Channel.h"
#include "channel/grpc/Stream.h"

namespace mlcb {

/// The service, as no .proto declares it: streams of bytes in messages of any size.
inline constexpr const char *GrpcMethod = "/mlcb.v1.Channel/Stream";
inline constexpr const char *TokenHeader = "authorization", *NameHeader = "mlcb-stream";
inline constexpr const char *AnswerHeader = "mlcb-answer"; // of a call that is taken: one that is refused looks alike otherwise
inline constexpr int MaxGrpcMessage = (64 << 20) + 16;     // a whole frame, for who does not cut them as we do

/// The common part of all streams between two processes.
class Connection {
public:
  virtual ~Connection() = default;

  /// Carries a descriptor to the other end, and says under which name.
  virtual Expected<std::string> lend(const FileDescriptor &Lent, Deadline Until, const InterruptCheck &Interrupted);

  /// A descriptor that stands for the other end's of that name, which a stream announced; none where the same process lent none.
  virtual FileDescriptor collect(const std::string &Name, const Stream &Announcing);
};

std::unique_ptr<Channel> grpcChannel(std::shared_ptr<Stream> Line, std::shared_ptr<Connection> Owner);

} // namespace mlcb
