// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of a register allocation at run time.
#pragma once

#include <functional>
#include <memory>

namespace llvm {
class MachineBlockFrequencyInfo;
class MachineFunction;
class Pass;
} // namespace llvm

namespace mlcb::measure {

/// The score of llvm/lib/CodeGen/RegAllocScore.cpp, which MLGO's rewards are made of: copies, loads, stores and rematerialisations, each
/// with its weight, times how often its block runs for each entry of the function.
double allocationCost(const llvm::MachineFunction &MF, const llvm::MachineBlockFrequencyInfo &Frequencies);

using AllocationListener = std::function<void(const llvm::MachineFunction &, double Cost)>;

/// Receives the cost of each function from the taps of a pipeline.
std::unique_ptr<llvm::Pass> createAllocationListener(AllocationListener OnFunction);

/// A pass for right after virtual registers were rewritten; a target that allocates in several rounds has one after each.
extern char &AllocationTapID;

} // namespace mlcb::measure
