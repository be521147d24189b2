// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of the tasks that are built in.
#pragma once

#include "llvm/task/BoundTask.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class PassBuilder;
} // namespace llvm

namespace mlcb {

/// The Measurer outlives the BoundTask.
using PrepareTask = Expected<std::unique_ptr<BoundTask>> (*)(const BoundSpec &Spec, measure::Measurer &Target);

class TaskRegistration;

/// Lets the policies of the command line take part in the compiler's own pipelines.
using DeployTask = void (*)(const TaskRegistration &Task, llvm::PassBuilder &Builder);

/// What -mlcb-guard compares in the host's own pipelines. What the guard has no measure of, it refuses.
enum class Guard {
  None,
  Pipeline, // bytes of what the pipeline makes of the module, by each policy alone and by none
  Code,     // the task compares what code comes of its own decisions, where the pipeline has ended
  Function  // the task compares function by function itself
};

/// What a policy does about code for another architecture than that which it was taught for.
enum class OnOtherArchitecture { Decides, LeavesToLLVM };

/// Makes a task known, by its name in native/tasks/*.def; one static object beside each pass.
class TaskRegistration {
public:
  /// Heuristic is the pipeline that is the compiler's own answer to the task.
  TaskRegistration(llvm::StringRef Name, llvm::StringRef Heuristic, PrepareTask Prepare, DeployTask Deploy, Guard Compares = Guard::None,
                   OnOtherArchitecture ThePolicy = OnOtherArchitecture::Decides);

  static const TaskRegistration *find(llvm::StringRef Name);

  /// All tasks that the guard compares so.
  static llvm::SmallVector<const TaskRegistration *> comparedBy(Guard Kind);

  /// DeployTask of every task.
  static void deployAll(llvm::PassBuilder &Builder);

  llvm::StringRef name() const { return Name; }
  llvm::StringRef heuristic() const { return Heuristic; }
  Guard guard() const { return Compares; }
  OnOtherArchitecture onOtherArchitecture() const { return ThePolicy; }
  Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target) const { return Prepare(Spec, Target); }

private:
  static const TaskRegistration *Head;
  llvm::StringRef Name, Heuristic;
  PrepareTask Prepare;
  DeployTask Deploy;
  Guard Compares;
  OnOtherArchitecture ThePolicy;
  const TaskRegistration *Next;
};

} // namespace mlcb
