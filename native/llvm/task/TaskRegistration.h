// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of the tasks that are built in.
#pragma once

#include "llvm/task/BoundTask.h"

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
  Expected<std::unique_ptr<BoundTask>> prepare(const BoundSpec &Spec, measure::Measurer &Target) const { return Prepare(Spec, Target); }

private:
  static const TaskRegistration *Head;
  llvm::StringRef Name, Heuristic;
  PrepareTask Prepare;
  DeployTask Deploy;
  const TaskRegistration *Next;
};

} // namespace mlcb
