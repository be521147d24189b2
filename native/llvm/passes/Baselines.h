// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program measures after a pipeline without a policy.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/measure/SharedCache.h"
#include "llvm/passes/PassRunner.h"

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

private:
  measure::Key key(llvm::StringRef What, llvm::StringRef Pipeline) const;
  std::unique_ptr<llvm::Module> clone(llvm::StringRef Pipeline, const llvm::Module &M);

  PassRunner &Runner;
  measure::Measurer &Target;
  measure::SharedCache *Cache;
  llvm::StringRef Program;
};

} // namespace mlcb
