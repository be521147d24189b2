// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host in whose pipeline passes of ours run: its machine, and what its user switched off.
#pragma once

#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Passes/PassBuilder.h"

#include <string>

namespace mlcb {

/// While it lives, pass runners of this thread that are made for a policy ask the host's machine about the target, as code will be generated for it
/// (code model, relocation model, options), and run no vectorizer that the host leaves out.
class HostScope {
public:
  HostScope(llvm::PassBuilder &Builder, llvm::OptimizationLevel At) : Builder(Builder), At(At) { Innermost = this; }
  ~HostScope() { Innermost = Outer; }
  HostScope(const HostScope &) = delete;
  HostScope &operator=(const HostScope &) = delete;

  /// Null outside all of them, as in a worker.
  static const HostScope *innermost() { return Innermost; }

  /// Registers the host's analyses of functions, and leaves out its vectorizers.
  void extend(llvm::FunctionAnalysisManager &Functions, llvm::PassInstrumentationCallbacks &Callbacks) const;

private:
  llvm::PassBuilder &Builder;
  llvm::OptimizationLevel At;
  const HostScope *Outer = Innermost;

  static thread_local const HostScope *Innermost;
};

/// The pipeline of a level as a builder makes it, by the classes of its passes. A builder tells nobody what it was told, but its passes do.
std::string classesOf(llvm::PassBuilder &Builder, llvm::OptimizationLevel At);

} // namespace mlcb
