// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The metrics of a program after a pipeline without a policy.
#pragma once

#include "runner/ModelRunner.h"
#include "llvm/measure/Measure.h"
#include "llvm/measure/SharedCache.h"
#include "llvm/pipeline/PassRunner.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>

namespace mlcb {

struct Baseline {
  uint64_t Size, Text, Instructions;
};

/// Measures the baselines of a module as it was loaded, on a clone, or takes them from the cache where the program is known.
class BaselineMeter {
public:
  /// Program identifies the module's contents; empty where unknown. Cache may be null.
  BaselineMeter(PassRunner &Runner, measure::Measurer &Target, measure::SharedCache *Cache, llvm::StringRef Program)
      : Runner(Runner), Target(Target), Cache(Program.empty() ? nullptr : Cache), Program(Program) {}

  Baseline after(llvm::StringRef Pipeline, const llvm::Module &M);
  Expected<double> throughputAfter(llvm::StringRef Pipeline, const llvm::Module &M);
  double loopCostAfter(llvm::StringRef Pipeline, const llvm::Module &M);

private:
  /// The known value of a module after a pipeline, or else the value that Make finds now.
  template <class T>
  Expected<T> cached(llvm::StringRef What, llvm::StringRef Pipeline, const llvm::Module &M, llvm::function_ref<Expected<T>(llvm::Module &)> Make);
  measure::Key key(llvm::StringRef What, llvm::StringRef Pipeline) const;
  std::unique_ptr<llvm::Module> clone(llvm::StringRef Pipeline, const llvm::Module &M);

  PassRunner &Runner;
  measure::Measurer &Target;
  measure::SharedCache *Cache;
  llvm::StringRef Program;
};

/// The metrics of a task that hold its baselines.
template <class Metric> struct BaselineMetrics {
  Metric Size, Text, Instructions, Throughput;
};

/// Writes what the learner wants of a module after a pipeline. Metric is the enum of a task.
template <class Metric>
Expected<void> writeBaselines(ModelRunner &Policy, BaselineMeter &Meter, llvm::StringRef Pipeline, const llvm::Module &Loaded,
                              BaselineMetrics<Metric> Into = {Metric::size_default, Metric::text_default, Metric::ir_instructions_default,
                                                              Metric::throughput_default}) {
  if (Policy.wants(Into.Size) || Policy.wants(Into.Text) || Policy.wants(Into.Instructions)) {
    const Baseline Own = Meter.after(Pipeline, Loaded);
    Policy.metric<int64_t>(Into.Size) = Own.Size;
    Policy.metric<int64_t>(Into.Text) = Own.Text;
    Policy.metric<int64_t>(Into.Instructions) = Own.Instructions;
  }
  if (Policy.wants(Into.Throughput)) {
    Expected<double> Cycles = Meter.throughputAfter(Pipeline, Loaded);
    if (!Cycles)
      return Unexpected(Cycles.error());
    Policy.metric<double>(Into.Throughput) = *Cycles;
  }
  return {};
}

} // namespace mlcb
