// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The life of a child: one episode, from the fork to the last frame.
#pragma once

#include "sandbox/Sandbox.h"
#include "spec/FileDescriptor.h"
#include "llvm/task/BoundTask.h"
#include "llvm/worker/BeginRequest.h"
#include "llvm/worker/Configurations.h"

#include <sys/types.h>

namespace llvm {
class Module;
}

namespace mlcb {

/// All that a child needs.
struct EpisodeSetup {
  const Configuration &Config;
  BoundTask &Task;
  llvm::Module &Program;
  EpisodeRequest Request;
  BeginRequest Begin;
  FileDescriptor Channel;
  FileDescriptor Snapshot; // its channel, where one is wanted
  pid_t Worker;
  measure::Measurer &Target;
  const Sandbox &Box;
};

/// To be called in the child of a fork.
[[noreturn]] void runEpisode(EpisodeSetup Setup);

} // namespace mlcb
