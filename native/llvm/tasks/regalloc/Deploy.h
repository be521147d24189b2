// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Policies for the register allocator of clang and llc.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <memory>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mlcb {

class RegallocConversation;

/// The conversation with the policy that the command line names for a task, until its last owner goes; null where it names none. A failure
/// ends the compilation. With -mlcb-guard, only those functions are asked about that the policies of both tasks together make better (betterFunctions).
std::shared_ptr<RegallocConversation> regallocOfCommandLine(llvm::StringRef Task, llvm::Module &M, llvm::TargetMachine &Machine);

} // namespace mlcb
