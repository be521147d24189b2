// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a policy does better on a module than the compiler does without it.
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

/// Tries both in forks of this process, so that the module stays as it is and neither a crash nor a changed option survives.
Verdict compare(llvm::Module &M, measure::Measurer &Target, llvm::function_ref<Expected<void>()> RunPolicy,
                llvm::StringRef Heuristic);

/// Says so in an optimization remark of "mlcb" (`clang -Rpass=mlcb`, `opt -pass-remarks=mlcb`).
void remark(const Verdict &V, llvm::StringRef Heuristic, llvm::Module &M);

} // namespace mlcb
