// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program measures without a policy: unoptimized and after -Oz.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/measure/SharedCache.h"
#include "llvm/passes/PassRunner.h"

#include <memory>
#include <string>

namespace mlcb {

struct Baselines {
  uint64_t SizeUnoptimized; // after always-inline, without which a program is not all there
  uint64_t SizeOz, TextOz;
  uint64_t InstructionsOz;
};

/// Works out the baselines of a module as it was loaded, on clones, or takes them from the cache where the program is known there.
class BaselineMeter {
public:
  /// Program names the module's contents; empty where nobody knows. Cache may be null.
  BaselineMeter(PassRunner &Runner, measure::Measurer &Target, measure::SharedCache *Cache, llvm::StringRef Program)
      : Runner(Runner), Target(Target), Cache(Program.empty() ? nullptr : Cache), Program(Program) {}

  Baselines sizes(const llvm::Module &M);
  Expected<double> throughputOz(const llvm::Module &M);

private:
  measure::Key key(llvm::StringRef What) const;
  std::unique_ptr<llvm::Module> after(llvm::StringRef Pipeline, const llvm::Module &M);

  PassRunner &Runner;
  measure::Measurer &Target;
  measure::SharedCache *Cache;
  llvm::StringRef Program;
};

} // namespace mlcb
