// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The last pass of a pipeline that is run for many modules: the target's printer, a new one for each of them.
#pragma once

#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>

namespace mlcb::measure {

/// The streamer that a printer writes to, which becomes the printer's.
using MakeStreamer = std::function<llvm::Expected<std::unique_ptr<llvm::MCStreamer>>(llvm::MCContext &)>;
/// What shall hear of all that a printer prints.
using MakeHandler = std::function<std::unique_ptr<llvm::AsmPrinterHandler>()>;

/// LLVM's AsmPrinter, MCStreamer and MCContext do not forget a module wholly when they are reset: relocation directives, numbered labels,
/// symbols of blocks whose address is taken, pseudo probes and more refer to symbols that are gone when the next module is printed.
class ModulePrinter final : public llvm::MachineFunctionPass {
public:
  ModulePrinter(llvm::TargetMachine &TM, MakeStreamer Streamer, MakeHandler Handler)
      : MachineFunctionPass(ID), TM(TM), Streamer(std::move(Streamer)), Handler(std::move(Handler)) {}

  /// Begins a module; the first time before the pass is added to a pipeline. A target that has no printer is an error.
  llvm::Error renew(llvm::MCContext &Context);
  /// Ends the printer before its context.
  void drop() { Printer.reset(); }

private:
  static char ID;
  llvm::StringRef getPassName() const override { return "module printer"; }
  void getAnalysisUsage(llvm::AnalysisUsage &AU) const override { Printer->getAnalysisUsage(AU); }
  bool doInitialization(llvm::Module &M) override;
  bool runOnMachineFunction(llvm::MachineFunction &MF) override;
  bool doFinalization(llvm::Module &M) override { return Printer->doFinalization(M); }

  llvm::TargetMachine &TM;
  MakeStreamer Streamer;
  MakeHandler Handler;
  std::unique_ptr<llvm::AsmPrinter> Printer;
};

} // namespace mlcb::measure
