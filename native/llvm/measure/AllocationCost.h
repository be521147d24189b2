// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The costs of a register allocation at run time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace llvm {
class MachineBlockFrequencyInfo;
class MachineFunction;
class Pass;
} // namespace llvm

namespace mlcb::measure {

/// The defaults of LLVM's options -regalloc-*-weight.
inline constexpr double CopyWeight = 0.2, LoadWeight = 4, StoreWeight = 1, CheapRematWeight = 0.2, ExpensiveRematWeight = 1;

/// The score of llvm/lib/CodeGen/RegAllocScore.cpp, which MLGO's rewards are made of: copies, loads, stores and rematerialisations, each
/// with its weight, times how often its block runs for each entry of the function.
double allocationCost(const llvm::MachineFunction &MF, const llvm::MachineBlockFrequencyInfo &Frequencies);

/// The instructions that load or store a spilled value, folded into others or not; callee-saved registers not among them.
int64_t spills(const llvm::MachineFunction &MF);

/// allocationCost() of one function at two places, and spills() at the first.
struct AllocationCosts {
  int64_t Spills = 0;
  double Allocated = 0; // right after virtual registers were rewritten, where LLVM takes it: a callee-saved register is free
  double Executed = 0;  // once it has its prologue and epilogues, which save and restore those, in the blocks where shrink wrapping puts them
};

using AllocationListener = std::function<void(const llvm::MachineFunction &, const AllocationCosts &Costs)>;

/// Receives the costs of each function from the taps of a pipeline, once.
std::unique_ptr<llvm::Pass> createAllocationListener(AllocationListener OnFunction);

/// A pass for right after virtual registers were rewritten. Where a target allocates in several rounds, the last one counts.
extern char &AllocationTapID;

/// A pass for right after prologue and epilogues were inserted, which tells the listener.
extern char &ExecutionTapID;

} // namespace mlcb::measure
