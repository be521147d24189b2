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

/// Whoever the command line names for a task, at work on a module until the last of the questions' owners goes; null where it names
/// nobody. What goes wrong ends the compilation. With -mlcb-guard, only the functions are asked about that the policies of both tasks together
/// make cheaper.
std::shared_ptr<RegallocConversation> allocationOfCommandLine(llvm::StringRef Task, llvm::Module &M, llvm::TargetMachine &Machine);

} // namespace mlcb
