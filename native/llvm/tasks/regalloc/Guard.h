// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guard of the allocator: the functions whose registers are better by other allocators than LLVM's own.
#pragma once

#include "llvm/tasks/regalloc/Alternatives.h"

#include "llvm/ADT/StringSet.h"

namespace mlcb {

/// Of each alternative the functions whose registers cost less by it than by LLVM's own advisors (see measure::AllocationCosts::Executed) and by
/// the others; at -Oz, those that take fewer bytes, or as many and cost less. Those that gain least for their bytes are left out until all together
/// take no more than by LLVM's. Generates code once for each and for LLVM's, in a fork that uses the target machine, with all library functions that
/// the target has; none where that fails. Reports the costs in a remark.
std::vector<llvm::StringSet<>> betterFunctions(llvm::Module &M, llvm::TargetMachine &Machine, llvm::ArrayRef<Alternative> Alternatives);

} // namespace mlcb
