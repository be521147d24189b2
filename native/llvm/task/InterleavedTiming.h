// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Run times of programs, each measured beside the others.
#pragma once

#include "runner/ModelRunner.h"

#include "llvm/Support/CodeGen.h"

#include <cmath>
#include <memory>
#include <vector>

namespace llvm {
class Module;
}

namespace mlcb {

/// Programs that are run in turns, so that the machine's other work meets all of them.
class InterleavedTiming {
public:
  virtual ~InterleavedTiming();

  /// Generates a program's code at a level, and runs it once. One that this machine cannot run, that has nothing to run, that crashes or does not
  /// end is an error.
  virtual Expected<void> enter(std::unique_ptr<llvm::Module> Program, llvm::CodeGenOptLevel Level) = 0;

  /// The least seconds that each took, in the order in which they entered.
  virtual Expected<std::vector<double>> run() = 0;
};

/// Whether the learner wants run times. Metric is the enum of a task that has both.
template <class Metric> bool wantsTime(const ModelRunner &Policy) { return Policy.wants(Metric::seconds) || Policy.wants(Metric::seconds_default); }

/// Writes what the program that entered first, which no policy changed, takes, and what the last one does; no number where Timing is null.
template <class Metric> Expected<void> writeTime(ModelRunner &Policy, InterleavedTiming *Timing) {
  const auto Write = [&](const std::vector<double> &Least) {
    Policy.metric<double>(Metric::seconds_default) = Least.front();
    Policy.metric<double>(Metric::seconds) = Least.back();
  };
  if (Timing)
    return Timing->run().map(Write);
  Write({NAN});
  return {};
}

} // namespace mlcb
