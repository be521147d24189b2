// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guard of the allocator: the functions whose registers are better by the policies.
#pragma once

#include "llvm/tasks/regalloc/Scope.h"

#include "llvm/ADT/StringSet.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mlcb {

/// The functions whose registers cost less by Policies than by LLVM's own advisors (see measure::AllocationCosts::Executed); at -Oz, those that take fewer
/// bytes, or as many and cost less. Those that gain least for their bytes are left out until all together take no more than by LLVM's. Generates
/// code twice, in a fork that uses the target machine, with all library functions that the target has; none where that fails. Reports the costs
/// in a remark.
llvm::StringSet<> betterFunctions(llvm::Module &M, llvm::TargetMachine &Machine, OpenRegalloc Policies);

} // namespace mlcb
