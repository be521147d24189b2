// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A channel over shared memory: a ring each way, and a Unix socket for what memory cannot say: a wake-up, a descriptor, an end.
#pragma once

#include "channel/Channel.h"
#include "channel/Ring.h"

#include <memory>

namespace mlcb {

/// All that the two ends share. It has no name in the file system, so that nothing is left of it when both are gone.
struct Rings {
  Ring ToCompiler, ToLearner;
};

/// Memory for two rings, whose size nobody can change any more.
Expected<FileDescriptor> makeRings();

/// Maps what makeRings() made, here or in the process that it came from; anything else is a ProtocolError.
Expected<std::shared_ptr<Rings>> mapRings(const FileDescriptor &Memory);

/// Over two fresh rings of Memory and a socketChannel() between the same two ends, which is left to it.
std::unique_ptr<Channel> shmChannel(std::shared_ptr<Rings> Memory, Ring &In, Ring &Out, std::unique_ptr<Channel> Socket);

} // namespace mlcb
