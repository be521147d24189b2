// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What every task measures alike.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/process/CurrentActivity.h"
#include "llvm/task/WorkClock.h"
#include "runner/ModelRunner.h"

#include "llvm/IR/Module.h"

namespace mlcb {

/// Writes what the learner wants of a module as it is now. Metric is the enum of a task that has these four.
template <class Metric> Expected<void> fillMetrics(ModelRunner &Policy, const llvm::Module &M, measure::Measurer &Target) {
  CurrentActivity Now("a measurement");
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

/// To be called before a question: what lies between is the policy's time, not the compiler's.
template <class Metric> void endTurn(ModelRunner &Policy, WorkClock &Work) {
  Work.pause();
  Policy.metric<double>(Metric::llvm_seconds) = Work.seconds();
}

/// To be called after it. What was told is not told again; where metrics come at the end alone, it has not been told.
inline void beginTurn(const ModelRunner &Policy, WorkClock &Work) {
  if (!Policy.measuresEndAlone())
    Work.reset();
  Work.resume();
}

} // namespace mlcb
