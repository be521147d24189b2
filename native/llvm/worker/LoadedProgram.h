// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program in memory, without a linker, and what one run of it takes.
#pragma once

#include "sandbox/Sandbox.h"
#include "spec/Error.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace mlcb {

/// The machine code of a module, linked with what this process has loaded. Each run is a process of its own, in a sandbox, with the program's
/// variables as they begin: nothing that it does is seen here, and what it forks, where it may, ends with it.
class LoadedProgram {
public:
  /// Uses the module up. Whatever prevents its runs (another machine's code, no main, a library that is not loaded) is an error.
  static Expected<LoadedProgram> load(llvm::Module &Program, llvm::TargetMachine &Machine);

  /// Seconds of CPU that main() takes, called with no arguments; where the program defines `double mlcb_seconds(void)`, that is called in its
  /// place and says them. What it prints is thrown away. A crash, or more seconds of CPU than the limit, is an error; a program that only waits
  /// has the whole turn.
  Expected<double> run(double LimitSeconds, const Sandbox &Box) const;

private:
  using Main = int(int, char **, char **);
  using Stopwatch = double();
  struct Report;

  [[noreturn]] void runHere(Report &Shared) const;

  std::unique_ptr<llvm::orc::LLJIT> Linked;
  Main *Whole = nullptr;
  Stopwatch *Timed = nullptr; // null where the whole counts
};

} // namespace mlcb
