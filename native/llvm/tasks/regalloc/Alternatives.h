// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other allocations of a module than LLVM's own, compared function by function.
#pragma once

#include "llvm/tasks/regalloc/FixedAllocators.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mlcb {

/// A way to allocate registers.
struct Alternative {
  std::string Name;
  OpenRegalloc Advisors;
  unsigned FirstUse = 0;                    // see FirstUseScope
  AllocatorScope::Make Allocator = nullptr; // in greedy's place

  static Alternative fixed(const FixedAllocator &By) { return {By.Name.str(), By.opener(), By.FirstUse, By.Allocator}; }
};

struct Allocation {
  double Cost = 0; // measure::AllocationCosts::Executed
  uint64_t Bytes = 0;
  bool MinSize = false;
  bool PassesLimit = false; // of its frame, so that the compiler warns, or fails

  /// At -Oz bytes count first. One that passes a limit is not better than one that does not.
  bool isBetterThan(const Allocation &Other) const {
    if (PassesLimit && !Other.PassesLimit)
      return false;
    return MinSize ? std::pair(Bytes, Cost) < std::pair(Other.Bytes, Other.Cost) : Cost < Other.Cost;
  }
};

/// Of all functions of a module.
struct Allocations {
  llvm::MapVector<std::string, Allocation, llvm::StringMap<unsigned>> Functions; // in the order in which code is generated
  uint64_t SharedBytes = 0;                                                      // of what the machine outliner took out of several

  /// Of the module.
  Allocation sum() const;
};

/// Generates code for a copy of the module.
Allocations allocate(const llvm::Module &M, llvm::TargetMachine &Machine, const Alternative &By);

/// A function that an alternative allocates better than LLVM does.
struct BetterFunction {
  llvm::StringRef Name;
  size_t By; // the best alternative
  Allocation Own, Best;

  int64_t growth() const { return int64_t(Best.Bytes) - int64_t(Own.Bytes); }
  double gain() const { return Own.Cost - Best.Cost; }
};

/// The functions that are better by an alternative, without those that gain least for their bytes: together they take no more than before. All of
/// them by the smallest one, or none, where code is outlined: what several functions share depends on all.
llvm::SmallVector<BetterFunction> worthTheirBytes(const Allocations &Own, llvm::ArrayRef<Allocations> Others);

/// The cost that these save together; nothing at all where there is none.
double totalGain(llvm::ArrayRef<BetterFunction> Better);

} // namespace mlcb
