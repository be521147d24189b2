// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The target's passes from IR to machine code, and to whom the printer tells it.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>

namespace llvm {
class AsmPrinter;
class MCContext;
class MCStreamer;
class Module;
class Pass;
class TargetMachine;
namespace legacy {
class PassManager;
class PassManagerBase;
} // namespace legacy
} // namespace llvm

namespace mlcb::measure {

using MakeStreamer = llvm::function_ref<llvm::Expected<std::unique_ptr<llvm::MCStreamer>>(llvm::MCContext &)>;

/// The passes of TargetMachine::addPassesToEmitFile, with a pass right before the printer, and taps after register allocation where there is a
/// listener to them. Both passes become the pipeline's.
llvm::Expected<llvm::AsmPrinter *> addCodeGenPasses(llvm::legacy::PassManagerBase &Pipeline, llvm::TargetMachine &TM,
                                                    std::unique_ptr<llvm::Pass> BeforePrinter, MakeStreamer Streamer,
                                                    std::unique_ptr<llvm::Pass> OnAllocation = nullptr);

/// A pass manager that many modules can be run through.
class CodeGenPipeline {
public:
  using AddPasses = std::function<llvm::Error(llvm::legacy::PassManagerBase &)>;

  explicit CodeGenPipeline(AddPasses Add);
  ~CodeGenPipeline();

  /// Adds the passes, which happens in run too where the pipeline cannot be used again.
  llvm::Error build();
  void run(llvm::Module &M);

private:
  AddPasses Add;
  std::unique_ptr<llvm::legacy::PassManager> Passes;
};

} // namespace mlcb::measure
