// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The allocator as a pass of llc and clang: `-regalloc=mlcb`.
#pragma once

namespace llvm {
class FunctionPass;
} // namespace llvm

namespace mlcb::rl4real {

/// From now on optimized code of this process has its registers from this allocator, where no option names another.
void useAllocator();

/// The same for the pipelines of code generation that are built while it lives. It asks whom RegallocScope names; without a policy for a function,
/// that is greedy's.
class AllocatorScope {
public:
  AllocatorScope();
  ~AllocatorScope();
  AllocatorScope(const AllocatorScope &) = delete;
  AllocatorScope &operator=(const AllocatorScope &) = delete;

private:
  llvm::FunctionPass *(*Before)();
};

} // namespace mlcb::rl4real
