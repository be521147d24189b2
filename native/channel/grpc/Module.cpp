// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The symbols that the core looks up here.
#include "channel/grpc/Ends.h"
#include "channel/grpc/GrpcChannel.h"

#include <cstdlib>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

namespace mlcb {
namespace {

// A peer that answers no ping for so long is gone.
constexpr int KeepaliveMilliseconds = 30'000, KeepaliveTimeout = 20'000;
constexpr int Window = 1 << 20;

class Module final : public GrpcModule {
public:
  Module() {
    if (!std::getenv("MLCB_DEBUG"))
      gpr_set_log_function([](gpr_log_func_args *) {}); // errors are values
  }

  Expected<std::unique_ptr<GrpcRendezvous>> open(const GrpcPlace &Place) const override {
    return Place.Listens ? grpcServer(Place) : grpcClient(Place);
  }
};

} // namespace

std::span<const std::pair<const char *, int>> commonArguments() {
  static constexpr std::pair<const char *, int> Arguments[] = {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MaxGrpcMessage},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, MaxGrpcMessage},
      {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, Window},
      {GRPC_ARG_KEEPALIVE_TIME_MS, KeepaliveMilliseconds},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, KeepaliveTimeout},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
  };
  return Arguments;
}

} // namespace mlcb

const mlcb::GrpcModule *mlcbGrpcV2() {
  static const auto *Only = std::make_unique<mlcb::Module>().release(); // for ever: threads may use it while the process ends
  return Only;
}
