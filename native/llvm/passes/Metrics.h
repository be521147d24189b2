// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every task measures alike.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/passes/Activity.h"
#include "runner/ModelRunner.h"

#include "llvm/IR/Module.h"

#include <chrono>

namespace mlcb {

/// Writes what the learner wants of a module as it is now. Metric is the enum of a task that has these four.
template <class Metric> Expected<void> fillMetrics(ModelRunner &Policy, const llvm::Module &M, measure::Measurer &Target) {
  Activity Now("a measurement");
  if (Policy.wants(Metric::size) || Policy.wants(Metric::text)) {
    measure::Size Size = Target.size(M);
    Policy.metric<int64_t>(Metric::size) = Size.Allocated;
    Policy.metric<int64_t>(Metric::text) = Size.Text;
  }
  if (Policy.wants(Metric::ir_instructions))
    Policy.metric<int64_t>(Metric::ir_instructions) = M.getInstructionCount();
  if (Policy.wants(Metric::throughput)) {
    llvm::Expected<double> Cycles = Target.throughput(M);
    if (!Cycles)
      return fail(ErrorKind::InvalidArgument, toString(Cycles.takeError()));
    Policy.metric<double>(Metric::throughput) = *Cycles;
  }
  return {};
}

/// What lies between two questions is the compiler's time, the question itself the policy's.
class WorkClock {
public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - Began).count(); }
  void restart() { Began = Clock::now(); }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point Began = Clock::now();
};

} // namespace mlcb
