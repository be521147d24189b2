// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guard of modules: the smallest of what a policy and the compiler itself make of one.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class Module;
class PassBuilder;
} // namespace llvm

namespace mlcb {

struct Choice;
class TaskRegistration;

/// Makes each pipeline of the host begin with trials, if -mlcb-guard is given: in forks of this process it runs to its end, by each policy of
/// Guard::Module alone, and by none. All policies that do not make the smallest are passed over until it has ended. Reported in a remark.
/// Deploy adds what is guarded.
void guardPipelines(llvm::PassBuilder &Builder, llvm::function_ref<void()> Deploy);

/// Whether the policy makes a module as small as the heuristic of its task does, alone and outside of any pipeline. Reported in a remark.
bool isPolicySmaller(const TaskRegistration &Task, Choice &Policy, llvm::Module &M);

} // namespace mlcb
