// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface of libmlcb_grpc.so.
#pragma once

#include "channel/GrpcRendezvous.h"

namespace mlcb {

/// An address, and the contents of the files that go with it. Where there are certificates the streams are encrypted.
struct GrpcPlace {
  std::string Address; // host:port
  bool Loopback = false;
  bool Listens = false;
  std::string Authority;        // what the other's certificate must be signed by; a server without it takes clients without one
  std::string Certificate, Key; // of this end
  std::string Token;            // both ends must have the same; none if empty
  GrpcBounds Bounds;

  bool isEncrypted() const { return !(Listens ? Certificate : Authority).empty(); }
};

class GrpcModule {
public:
  virtual ~GrpcModule();
  virtual Expected<std::unique_ptr<GrpcRendezvous>> open(const GrpcPlace &Place) const = 0;
};

} // namespace mlcb

/// The version is that of GrpcModule and all that it is passed.
extern "C" [[gnu::visibility("default")]] const mlcb::GrpcModule *mlcbGrpcV2();
