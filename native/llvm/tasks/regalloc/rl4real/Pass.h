// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocator as a pass of llc and clang: `-regalloc=mlcb`.
#pragma once

namespace llvm {
class FunctionPass;
} // namespace llvm

namespace mlcb::rl4real {

/// From now on optimized code of this process has its registers from this allocator, where no option names another.
void useAllocator();

/// Makes it. It asks whom RegallocScope names; without a policy for a function, that is greedy's. Where code is not optimized, it is LLVM's fast one.
llvm::FunctionPass *createAllocator();

/// Makes one that finds the best way without splits for the functions that are small enough (Optimum); greedy allocates the others.
llvm::FunctionPass *createOptimalAllocator();

} // namespace mlcb::rl4real
