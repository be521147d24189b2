// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An estimate of the time that a module spends in loops.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace mlcb::measure {

/// The reciprocal throughput of all instructions in loops, each as often as it runs: a loop as often as LLVM knows,
/// else until it has come through 1024 elements by its step, so that a vectorized or unrolled one is counted for what
/// it does in an iteration. What is left over for the last elements counts as little; what runs only where pointers
/// alias, and functions that are not optimized, not at all. Neither latencies nor caches are modelled: a guide to the
/// time that distribution saves, no more.
double loopCost(llvm::Module &M, llvm::TargetMachine &Machine);

} // namespace mlcb::measure
