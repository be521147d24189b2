// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Policies for the register allocator of clang and llc.
#pragma once

#include "llvm/tasks/regalloc/Scope.h"

namespace llvm {
class Function;
class TargetMachine;
} // namespace llvm

namespace mlcb {

/// The conversation with the policy that the command line names for a task, until its last owner goes; none where it names none. A failure
/// ends the compilation. With -mlcb-guard, only those functions are asked about that the policies of all tasks together make better (betterFunctions);
/// with -mlcb-candidates the policies are the first of so many alternatives, and fixed allocators the others.
RegallocConversations regallocOfCommandLine(llvm::StringRef Task, llvm::Module &M, llvm::TargetMachine &Machine);

/// The cost of a first callee-saved register that the alternatives of the command line have chosen for a function whose code is generated; 0 for
/// LLVM's own.
unsigned firstUseOfCommandLine(const llvm::Function &F);

} // namespace mlcb
