// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Channels to another machine, over gRPC: who may speak there, and the module that does it.
#pragma once

#include "channel/Rendezvous.h"
#include "channel/Uri.h"

#include <string>

namespace mlcb {

/// The options of a `grpc://HOST:PORT`: who listens there, and what proves to each end that the other may be there.
inline constexpr std::string_view GrpcOptions[] = {"serdes", "timeout", "server", "ca", "cert", "key", "token"};

/// What a server grants to who calls it.
struct GrpcBounds {
  size_t Episodes = 1000; // of one connection at once, clones among them
  double IdleSeconds = 0; // after which a connection is closed on which nothing was said; never if 0
};

/// One end of a place. A client's connect() waits until somebody there takes its call, a server's until somebody calls.
class GrpcRendezvous : public Rendezvous {
public:
  /// host:port, with the port that a server was given for 0.
  virtual std::string address() const = 0;

  /// How many calls a server has refused; 0 at a client.
  virtual size_t refused() const { return 0; }
};

/// Whether it is the compiler that listens (server=compiler), not the learner.
bool compilerListens(const Uri &Where);

/// Opens libmlcb_grpc.so where that was not done yet; who listens does so from here on. The files are read that the options, or else
/// MLCB_TLS_CA, MLCB_TLS_CERT, MLCB_TLS_KEY and MLCB_TOKEN_FILE name. Anything but loopback must be encrypted and have a token.
Expected<std::unique_ptr<GrpcRendezvous>> openGrpc(const Uri &Where, bool Listens, const GrpcBounds &Bounds = {});

} // namespace mlcb
