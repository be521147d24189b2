// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The target's passes from IR to machine code, and to whom the printer tells it.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class AsmPrinter;
class MCContext;
class MCStreamer;
class Pass;
class TargetMachine;
namespace legacy {
class PassManagerBase;
} // namespace legacy
} // namespace llvm

namespace mlcb::measure {

using MakeStreamer = llvm::function_ref<llvm::Expected<std::unique_ptr<llvm::MCStreamer>>(llvm::MCContext &)>;

/// What TargetMachine::addPassesToEmitFile adds, with a pass right before the printer, which stays the pipeline's.
llvm::Expected<llvm::AsmPrinter *> addCodeGenPasses(llvm::legacy::PassManagerBase &Pipeline, llvm::TargetMachine &TM,
                                                    std::unique_ptr<llvm::Pass> BeforePrinter, MakeStreamer Streamer);

} // namespace mlcb::measure
