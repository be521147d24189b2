// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a module to the layout of its object file, without writing the file.
#pragma once

#include "llvm/measure/AllocationCost.h"
#include "llvm/measure/CodeGenPasses.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class MachineFunction;
class MCAssembler;
class MCObjectStreamer;
class TargetMachine;
} // namespace llvm

namespace mlcb::measure {

/// The target's code generation pipeline, built once and run for many modules.
class CodeGenerator {
public:
  /// OnAllocation, if any, is told what the registers of each function cost, once it has its prologue.
  explicit CodeGenerator(llvm::TargetMachine &TM, AllocationListener OnAllocation = nullptr);
  ~CodeGenerator();

  /// Builds the pipeline, as the first run() does too. A target that cannot write objects is an error; run() ends the process then.
  llvm::Error prepare();

  using FunctionListener = llvm::function_ref<void(llvm::MachineFunction &)>;
  using LayoutListener = llvm::function_ref<void(llvm::MCObjectStreamer &)>;

  /// Calls OnFunction for each machine function before it is printed, and OnLayout once the final layout is known. Uses the IR of the
  /// module up.
  void run(llvm::Module &M, FunctionListener OnFunction, LayoutListener OnLayout);

  llvm::TargetMachine &targetMachine() { return TM; }

private:
  class LayoutStream;
  class FunctionTap;

  llvm::TargetMachine &TM;
  AllocationListener OnAllocation;
  std::unique_ptr<LayoutStream> Out; // outlives the pipeline, whose last pass writes to it
  CodeGenPipeline Pipeline;
  FunctionTap *Tap = nullptr; // owned by the pipeline
};

} // namespace mlcb::measure
