// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs are timed in processes of their own, one at a time on this machine.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/task/InterleavedTiming.h"
#include "llvm/worker/LoadedProgram.h"

namespace mlcb {

/// A race in this process; a fork of it has the programs that entered before.
class ProcessTiming final : public InterleavedTiming {
public:
  /// Programs run in the sandbox, which outlives this.
  ProcessTiming(measure::Measurer &Target, bool MayRun, const Sandbox &Box) : Target(Target), MayRun(MayRun), Box(Box) {}

  Expected<void> enter(std::unique_ptr<llvm::Module> Program, llvm::CodeGenOptLevel Level) override;
  Expected<std::vector<double>> run() override;

private:
  Expected<void> round(std::vector<double> &Least, bool Backwards) const;

  measure::Measurer &Target;
  bool MayRun;
  const Sandbox &Box;
  std::unique_ptr<llvm::TargetMachine> Machine;
  std::vector<LoadedProgram> Programs;
};

} // namespace mlcb
