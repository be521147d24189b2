// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program measures after a pipeline without a policy.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/measure/SharedCache.h"
#include "llvm/pipeline/PassRunner.h"
#include "runner/ModelRunner.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <string>

namespace mlcb {

struct Baseline {
  uint64_t Size, Text, Instructions;
};

/// Works out the baselines of a module as it was loaded, on a clone, or takes them from the cache where the program is known there.
class BaselineMeter {
public:
  /// Program names the module's contents; empty where nobody knows. Cache may be null.
  BaselineMeter(PassRunner &Runner, measure::Measurer &Target, measure::SharedCache *Cache, llvm::StringRef Program)
      : Runner(Runner), Target(Target), Cache(Program.empty() ? nullptr : Cache), Program(Program) {}

  Baseline after(llvm::StringRef Pipeline, const llvm::Module &M);
  Expected<double> throughputAfter(llvm::StringRef Pipeline, const llvm::Module &M);
  double loopCostAfter(llvm::StringRef Pipeline, const llvm::Module &M);

private:
  /// What is known of a module after a pipeline, or else is made of it now.
  template <class T>
  Expected<T> cached(llvm::StringRef What, llvm::StringRef Pipeline, const llvm::Module &M,
                     llvm::function_ref<Expected<T>(llvm::Module &)> Make);
  measure::Key key(llvm::StringRef What, llvm::StringRef Pipeline) const;
  std::unique_ptr<llvm::Module> clone(llvm::StringRef Pipeline, const llvm::Module &M);

  PassRunner &Runner;
  measure::Measurer &Target;
  measure::SharedCache *Cache;
  llvm::StringRef Program;
};

/// Writes what the learner wants of a module after a pipeline. Metric is the enum of a task that has these four.
template <class Metric>
Expected<void> tellBaselines(ModelRunner &Policy, BaselineMeter &Meter, llvm::StringRef Pipeline, const llvm::Module &Loaded) {
  if (Policy.wants(Metric::size_default) || Policy.wants(Metric::text_default) || Policy.wants(Metric::ir_instructions_default)) {
    const Baseline Own = Meter.after(Pipeline, Loaded);
    Policy.metric<int64_t>(Metric::size_default) = Own.Size;
    Policy.metric<int64_t>(Metric::text_default) = Own.Text;
    Policy.metric<int64_t>(Metric::ir_instructions_default) = Own.Instructions;
  }
  if (Policy.wants(Metric::throughput_default)) {
    Expected<double> Cycles = Meter.throughputAfter(Pipeline, Loaded);
    if (!Cycles)
      return Unexpected(Cycles.error());
    Policy.metric<double>(Metric::throughput_default) = *Cycles;
  }
  return {};
}

} // namespace mlcb
