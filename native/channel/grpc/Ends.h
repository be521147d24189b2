// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Both ends of a place.
#pragma once

#include "channel/GrpcModule.h"

#include <span>

namespace mlcb {

Expected<std::unique_ptr<GrpcRendezvous>> grpcClient(const GrpcPlace &Place);
Expected<std::unique_ptr<GrpcRendezvous>> grpcServer(const GrpcPlace &Place);

/// How both ends keep a connection, by gRPC's names.
std::span<const std::pair<const char *, int>> commonArguments();

} // namespace mlcb
