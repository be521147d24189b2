// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies of a command line, at work on a module.
#pragma once

#include "llvm/task/BoundTask.h"

namespace mlcb {

/// Ends the compilation: one line, exit code 1, and no output file. One that is lost already ends with the first line.
void refuse(llvm::Module &M, const Error &Why);

/// Whether the compilation is lost already, though a compiler may go on for a while.
bool isRefused(const llvm::Module &M);

/// Whether -mlcb-runner names any runner.
bool hasRunners();

/// The runner for a task, among those of the command line, bound as its policy asks; null where every policy is for another task. One
/// that does not decide is not bound.
Expected<std::unique_ptr<ModelRunner>> runnerFor(const TaskRegistration &Task);

/// Why there is none: what the policies of the command line are for.
Error noRunnerFor(const TaskRegistration &Task);

/// The runner for a task; null where it does not decide, too.
Expected<std::unique_ptr<ModelRunner>> deciderFor(const TaskRegistration &Task);

/// Likewise, inside a compiler that is not measured: an error where a learner wants a metric.
Expected<std::unique_ptr<ModelRunner>> deciderInHost(const TaskRegistration &Task);

/// Likewise, of a task that the guard cannot compare: an error where it is asked for.
Expected<std::unique_ptr<ModelRunner>> unguardedInHost(const TaskRegistration &Task);

/// The questions that a host's decisions are asked by, which keep it alive; null where there is none, the end of the compilation where
/// it could not be opened.
template <class Host>
auto questionsOf(const Expected<std::shared_ptr<Host>> &Opened, llvm::Module &M) {
  using Questions = std::remove_reference_t<decltype((*Opened)->questions())>;
  if (!Opened)
    refuse(M, Opened.error());
  return Opened && *Opened ? std::shared_ptr<Questions>(*Opened, &(*Opened)->questions()) : nullptr;
}

/// Whether -mlcb-guard is given.
bool isGuarded();

/// The guard asks twice: an error where it is asked for and the runner cannot be.
Expected<void> mayBeGuarded(const ModelRunner &Runner);

/// What measures a module for its own target.
Expected<std::unique_ptr<measure::Measurer>> measurerFor(const llvm::Module &M);

/// Who decides on a module, of those that the command line names.
enum class Decider {
  Nobody,    // every policy is for another task
  Heuristic, // `default:`, or the guard prefers it: the module is as it was
  Policy     // and has done so: the module is its result
};

/// Lets the task's policy work on the module; with -mlcb-guard only if the result is not larger than that of the heuristic, a pipeline.
Expected<Decider> decide(const TaskRegistration &Task, llvm::StringRef Heuristic, llvm::Module &M);

} // namespace mlcb
