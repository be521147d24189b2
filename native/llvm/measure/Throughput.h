// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cycles of a whole module.
#pragma once

#include "llvm/measure/BlockGenerator.h"
#include "llvm/measure/BlockSimulator.h"

namespace mlcb::measure {

class ThroughputMeter {
public:
  /// A CPU without a scheduling model is an error.
  static llvm::Expected<std::unique_ptr<ThroughputMeter>> create(llvm::TargetMachine &TM);

  /// Cycles when the world calls once each function that it may call. Uses the IR of the module up.
  double cycles(llvm::Module &M);

private:
  ThroughputMeter(std::unique_ptr<BlockGenerator> Generator, std::unique_ptr<BlockSimulator> Simulator)
      : Generator(std::move(Generator)), Simulator(std::move(Simulator)) {}

  std::unique_ptr<BlockGenerator> Generator;
  std::unique_ptr<BlockSimulator> Simulator;
};

} // namespace mlcb::measure
