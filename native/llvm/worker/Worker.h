// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fork server: configurations and programs are prepared here, episodes run in children.
#pragma once

#include "protocol/Framed.h"
#include "sandbox/Sandbox.h"
#include "llvm/measure/SharedCache.h"
#include "llvm/worker/Configurations.h"
#include "llvm/worker/ModuleCache.h"
#include "llvm/worker/Snapshots.h"
#include "llvm/worker/Terms.h"

namespace mlcb {

/// Speaks on the control channel as docs/protocol.md has it. Single-threaded: a fork takes only the thread that calls it.
class Worker {
public:
  /// It has entered the sandbox, which its episodes enter further and which outlives it.
  Worker(FileDescriptor ControlSocket, SnapshotLimits Limits, Terms Granted, const Sandbox &Box);

  /// Serves until the control channel closes.
  void serve();

private:
  Expected<void> answerHello(const Frame &Asked);

  /// A learner that breaks the protocol is left; one that asks for something impossible may ask again.
  void rejectRequest(Error Why);
  Expected<void> begin(std::string_view Payload, FileDescriptor &Channel);

  Framed Control;
  Configurations Configs;
  ModuleCache Programs;
  measure::SharedCache Known; // of programs, for all children
  Snapshots Recurring;
  Terms Granted;
  const Sandbox &Box;
};

} // namespace mlcb
