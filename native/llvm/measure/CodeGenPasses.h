// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The target's passes from IR to machine code, and to whom the printer tells it.
#pragma once

#include "llvm/measure/ModulePrinter.h"

#include "llvm/MC/MCContext.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>

namespace llvm {
class Module;
class Pass;
class TargetMachine;
namespace legacy {
class PassManager;
} // namespace legacy
} // namespace llvm

namespace mlcb::measure {

/// The passes of TargetMachine::addPassesToEmitFile, built once and run for many modules.
class CodeGenPipeline {
public:
  CodeGenPipeline(llvm::TargetMachine &TM, MakeStreamer Streamer, MakeHandler Handler = nullptr);
  ~CodeGenPipeline();

  /// Adds the passes, with one right before the printer, and taps after register allocation and the prologue where there is a listener to them. Both become
  /// the pipeline's. Called once.
  llvm::Error build(std::unique_ptr<llvm::Pass> BeforePrinter, std::unique_ptr<llvm::Pass> OnAllocation = nullptr);
  void run(llvm::Module &M);

private:
  llvm::Error renew();

  llvm::TargetMachine &TM;
  std::optional<llvm::MCContext> Context; // of one module, at one place
  std::unique_ptr<ModulePrinter> Unbuilt; // until it is the pipeline's
  ModulePrinter *Printer;
  std::unique_ptr<llvm::legacy::PassManager> Passes;
};

} // namespace mlcb::measure
