// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long programs take, each beside the others.
#pragma once

#include "spec/Error.h"

#include <memory>
#include <vector>

namespace llvm {
class Module;
}

namespace mlcb {

/// Programs that are run in turns, so that whatever else the machine does meets all of them.
class InterleavedTiming {
public:
  virtual ~InterleavedTiming();

  /// Builds a program and runs it once. One that this machine cannot run, that has nothing to run, that crashes or does not end is an error.
  virtual Expected<void> enter(std::unique_ptr<llvm::Module> Program) = 0;

  /// The least seconds that each took, in the order in which they entered.
  virtual Expected<std::vector<double>> run() = 0;
};

} // namespace mlcb
