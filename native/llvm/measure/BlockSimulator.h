// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cycles of a stretch of machine code, as llvm-mca simulates it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCInst.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mlcb::measure {

/// Has the scheduling model of the machine's CPU, of its generic one where that is empty.
class BlockSimulator {
public:
  /// A CPU without a scheduling model is an error.
  static llvm::Expected<std::unique_ptr<BlockSimulator>> create(const llvm::TargetMachine &TM);
  ~BlockSimulator();

  /// Cycles of one run of the code among many: reciprocal throughput, the pipeline being full before and after.
  ///
  /// Filling and draining is not counted, as it would make one block of two cheaper than both. A call or a return is what the scheduling
  /// model says of the instruction. An instruction that the model does not know takes a cycle.
  double cycles(llvm::ArrayRef<llvm::MCInst> Code);

private:
  class Impl;
  explicit BlockSimulator(std::unique_ptr<Impl> I);
  std::unique_ptr<Impl> Self;
};

} // namespace mlcb::measure
