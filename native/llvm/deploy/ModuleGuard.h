// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guard of modules: the smallest of what policies and the compiler itself make of one.
#pragma once

#include "llvm/deploy/Comparison.h"

#include "llvm/Passes/PassBuilder.h"

namespace mlcb {

struct Choice;
class TaskRegistration;

/// Makes each pipeline of the host begin with a comparison, if -mlcb-guard is given: of what each policy of Guard::Pipeline makes of the module
/// alone, and what the host makes of it. All policies that do not make the smallest are passed over until it has ended. Deploy adds what is
/// guarded.
void guardPipelines(llvm::PassBuilder &Builder, llvm::function_ref<void()> Deploy);

/// Whether this process is a compiler of one file, which ends when that is compiled.
bool isClang();

/// Where a pipeline of the host has ended: begins the way whose code is the smallest. Returns in a fork that takes the place of this process where
/// that can be.
Expected<void> takeSmallestCode(llvm::Module &M, llvm::ThinOrFullLTOPhase Phase, Comparison Compared);

/// Whether the policy makes a module as small as the heuristic of its task does, alone and outside of any pipeline.
bool isPolicySmaller(const TaskRegistration &Task, Choice &Policy, llvm::Module &M);

} // namespace mlcb
