// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where policies do better than the compiler does without them.
#pragma once

#include "llvm/tasks/regalloc/Conversation.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

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

/// The functions whose registers cost less by Policies than by LLVM's own advisors: see measure::allocationCost. Generates code twice, in a
/// fork that uses the target machine, with all library functions that the target has; none where that fails. Says in a remark, likewise,
/// what came out.
llvm::StringSet<> cheaperFunctions(llvm::Module &M, llvm::TargetMachine &Machine, OpenRegalloc Policies);

} // namespace mlcb
