// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The guard of a module: the smaller of its objects, by a policy or by the heuristic.
#pragma once

#include "spec/Error.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace llvm {
class Module;
}

namespace mlcb {

namespace measure {
class Measurer;
}

/// Bytes of the module's object either way; nothing where that fails.
struct Verdict {
  std::optional<uint64_t> Policy, Heuristic;

  bool isForPolicy() const { return Policy && (!Heuristic || *Policy <= *Heuristic); }
};

/// Tries both in forks of this process, without any other policy of the command line.
Verdict compare(llvm::Module &M, measure::Measurer &Target, llvm::function_ref<Expected<void>()> RunPolicy, llvm::StringRef Heuristic);

/// Reports a verdict as an optimization remark.
void remark(const Verdict &V, llvm::StringRef Heuristic, llvm::Module &M);

} // namespace mlcb
