// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Allocators that do not learn, which are tried beside a policy.
#pragma once

#include "llvm/pipeline/OptionScope.h"
#include "llvm/tasks/regalloc/AllocatorScope.h"
#include "llvm/tasks/regalloc/Scope.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace mlcb {

/// LLVM's greedy allocator with other answers to a task's questions, the same everywhere, or another cost of a callee-saved register; or another one of
/// LLVM's.
struct FixedAllocator {
  enum class Eviction { Own, Never, First };
  enum class Order { Own, Same, SmallFirst };

  llvm::StringLiteral Name;
  Eviction Evicts = Eviction::Own;
  Order Takes = Order::Own;
  unsigned FirstUse = 0;                    // -regalloc-csr-first-time-cost, in units of 1/16384 of the entry's frequency; 0 as LLVM has it
  AllocatorScope::Make Allocator = nullptr; // in greedy's place, in all functions

  /// Opens the conversations that give its answers.
  OpenRegalloc opener() const;
};

/// All that ship, in the order in which -mlcb-candidates tries them.
llvm::ArrayRef<FixedAllocator> fixedAllocators();

/// One of those, or another allocator of LLVM's; null where none has that name.
const FixedAllocator *findFixedAllocator(llvm::StringRef Name);

/// Holds -regalloc-csr-first-time-cost while it lives; as LLVM has it where that is 0 or the command line sets the option.
class FirstUseScope {
public:
  explicit FirstUseScope(unsigned Cost);

private:
  std::vector<OptionSetting> Settings;
  std::optional<OptionScope> Held;
};

} // namespace mlcb
