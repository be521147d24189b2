// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler's side of a task that works on modules, and the list of them.
#pragma once

#include "runner/ModelRunner.h"

#include "llvm/ADT/StringRef.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
class PassBuilder;
} // namespace llvm

namespace mlcb {

namespace measure {
class Measurer;
class SharedCache;
} // namespace measure

class InterleavedTiming;

/// What an episode is asked beside its task.
struct EpisodeRequest {
  std::vector<int64_t> Barred;           // actions that may not be taken
  bool Verify = false;                   // run LLVM's verifier after every action
  std::string Program;                   // names the module's contents; empty: nobody knows
  measure::SharedCache *Cache = nullptr; // remembers what is known of programs, where there is one
  InterleavedTiming *Timing = nullptr;                // tells how long programs run, where that can be told
};

/// A task bound to its parameters and a target; what does not depend on the program is prepared once.
class BoundTask {
public:
  virtual ~BoundTask();

  /// Does now what run() would do when it first needs it: what is wrong with the parameters is said at once, and forks share the work.
  virtual Expected<void> prepareAll() { return {}; }

  /// Runs an episode on a module. The runner is bound to the same spec.
  virtual Expected<EndReason> run(llvm::Module &M, ModelRunner &Runner, const EpisodeRequest &Request) = 0;
};

/// The Measurer outlives the BoundTask.
using PrepareTask = Expected<std::unique_ptr<BoundTask>> (*)(const BoundSpec &Spec, measure::Measurer &Target);

class TaskRegistration;

/// Lets the policies of the command line take part in the compiler's own pipelines.
using DeployTask = void (*)(const TaskRegistration &Task, llvm::PassBuilder &Builder);

/// Makes a task known, by its name in native/tasks/*.def; one static object beside each pass.
class TaskRegistration {
public:
  /// Heuristic is the pipeline that is the compiler's own answer to the task.
  TaskRegistration(llvm::StringRef Name, llvm::StringRef Heuristic, PrepareTask Prepare, DeployTask Deploy);

  static const TaskRegistration *find(llvm::StringRef Name);

  /// DeployTask of every task.
  static void deployAll(llvm::PassBuilder &Builder);

  llvm::StringRef name() const { return Name; }
  llvm::StringRef heuristic() const { return Heuristic; }
  Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target) const {
    return Prepare(Spec, Target);
  }

private:
  static const TaskRegistration *Head;
  llvm::StringRef Name, Heuristic;
  PrepareTask Prepare;
  DeployTask Deploy;
  const TaskRegistration *Next;
};

} // namespace mlcb
