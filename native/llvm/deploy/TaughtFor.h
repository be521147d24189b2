// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a policy was taught for, and what it is asked for.
#pragma once

#include "runner/ModelRunner.h"
#include "llvm/task/TaskRegistration.h"

namespace llvm {
class Module;
}

namespace mlcb {

/// Whether the module is for another architecture than that which the policy was taught for.
bool isForOtherArchitecture(const ModelRunner &Policy, const llvm::Module &M);

/// Warns, once a policy in a process, where it was taught at another level than the module is compiled at, as far as the functions' attributes
/// tell, or for another architecture.
void warnWhereNotTaught(const ModelRunner &Policy, const TaskRegistration &Task, const llvm::Module &M);

} // namespace mlcb
