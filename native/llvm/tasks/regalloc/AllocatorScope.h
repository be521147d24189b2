// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who allocates registers.
#pragma once

// The list of allocators is a static member of a template: hidden, this library would have one of its own.
#pragma GCC visibility push(default)
#include "llvm/CodeGen/RegAllocRegistry.h"
#pragma GCC visibility pop

namespace mlcb {

/// Has the pipelines of code generation that are built while it lives allocate by a pass.
class AllocatorScope {
public:
  using Make = llvm::RegisterRegAlloc::FunctionPassCtor;

  explicit AllocatorScope(Make Allocator) : Before(llvm::RegisterRegAlloc::getDefault()) { llvm::RegisterRegAlloc::setDefault(Allocator); }

  /// LLVM sets a default with the first pipeline of the process, and then expects one.
  ~AllocatorScope() {
    if (Before)
      llvm::RegisterRegAlloc::setDefault(Before);
  }
  AllocatorScope(const AllocatorScope &) = delete;
  AllocatorScope &operator=(const AllocatorScope &) = delete;

private:
  Make Before;
};

} // namespace mlcb
