// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler's side of a task that works on modules.
#pragma once

#include "runner/ModelRunner.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace mlcb {

namespace measure {
class Measurer;
class SharedCache;
} // namespace measure

class InterleavedTiming;

/// The options of an episode beside its task.
struct EpisodeRequest {
  std::vector<int64_t> Forbidden;        // actions that may not be taken
  bool Verify = false;                   // run LLVM's verifier after every action
  std::string Program;                   // identifies the module's contents; empty where unknown
  measure::SharedCache *Cache = nullptr; // of metrics of known programs, where there is one
  InterleavedTiming *Timing = nullptr;   // measures run times, where that is possible
};

/// A task bound to its parameters and a target; what does not depend on the program is prepared once.
class BoundTask {
public:
  virtual ~BoundTask();

  /// Does now what run() would do at its first use: errors of the parameters come at once, and forks share the work.
  virtual Expected<void> prepareAll() { return {}; }

  /// Runs an episode on a module. The runner is bound to the same spec.
  virtual Expected<EndReason> run(llvm::Module &M, ModelRunner &Runner, const EpisodeRequest &Request) = 0;

  /// How many answers there are to the one decision about a module; 0 where it takes several.
  virtual size_t answers() const { return 0; }

  /// Does to a module what an answer says, without a runner.
  virtual Expected<void> take(size_t Answer, llvm::Module &M);
};

} // namespace mlcb
