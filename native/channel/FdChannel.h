// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A channel over file descriptors: one socket, or a pipe each way.
#pragma once

#include "channel/Channel.h"

#include <memory>
#include <utility>

namespace mlcb {

/// Over a connected Unix stream socket; the only kind that carries descriptors.
std::unique_ptr<Channel> socketChannel(FileDescriptor Socket);

/// Over two pipes or FIFOs; sets both to O_NONBLOCK.
std::unique_ptr<Channel> pipeChannel(FileDescriptor In, FileDescriptor Out);

/// A connected pair of Unix stream sockets.
Expected<std::pair<FileDescriptor, FileDescriptor>> socketPair();

} // namespace mlcb
