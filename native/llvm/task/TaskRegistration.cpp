// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/TaskRegistration.h"

using namespace llvm;

namespace mlcb {

constinit const TaskRegistration *TaskRegistration::Head = nullptr;

TaskRegistration::TaskRegistration(StringRef Name, StringRef Heuristic, PrepareTask Prepare, DeployTask Deploy, Guard Compares,
                                   OnOtherArchitecture ThePolicy)
    : Name(Name), Heuristic(Heuristic), Prepare(Prepare), Deploy(Deploy), Compares(Compares), ThePolicy(ThePolicy), Next(Head) {
  Head = this;
}

const TaskRegistration *TaskRegistration::find(StringRef Name) {
  for (const TaskRegistration *Task = Head; Task; Task = Task->Next)
    if (Task->Name == Name)
      return Task;
  return nullptr;
}

SmallVector<const TaskRegistration *> TaskRegistration::comparedBy(Guard Kind) {
  SmallVector<const TaskRegistration *> Found;
  for (const TaskRegistration *Task = Head; Task; Task = Task->Next)
    if (Task->Compares == Kind)
      Found.push_back(Task);
  return Found;
}

void TaskRegistration::deployAll(PassBuilder &Builder) {
  for (const TaskRegistration *Task = Head; Task; Task = Task->Next)
    Task->Deploy(*Task, Builder);
}

} // namespace mlcb
