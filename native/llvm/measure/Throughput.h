// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cycles of a whole module.
#pragma once

#include "llvm/measure/BlockGenerator.h"
#include "llvm/measure/BlockSimulator.h"
#include "llvm/measure/SharedCache.h"

namespace mlcb::measure {

class ThroughputMeter {
public:
  /// Target stands for the triple and CPU of the machine. A CPU without a scheduling model is an error.
  static llvm::Expected<std::unique_ptr<ThroughputMeter>> create(llvm::TargetMachine &TM, SharedCache &Cache, Key Target);

  /// Cycles when the world calls once each function that it may call. Uses the IR of the module up.
  double cycles(llvm::Module &M);

private:
  ThroughputMeter(std::unique_ptr<BlockGenerator> Generator, std::unique_ptr<BlockSimulator> Simulator, SharedCache &Cache, Key Target)
      : Generator(std::move(Generator)), Simulator(std::move(Simulator)), Cache(Cache), Target(Target) {}
  double cycles(llvm::ArrayRef<llvm::MCInst> Code);

  std::unique_ptr<BlockGenerator> Generator;
  std::unique_ptr<BlockSimulator> Simulator;
  SharedCache &Cache; // of blocks: most stay as they are when a pass runs
  Key Target;
};

} // namespace mlcb::measure
