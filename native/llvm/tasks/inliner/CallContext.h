// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LLVM's features leave out of a call: whether its callee can go, and what was answered about others of it.
#pragma once

#include "runner/ModelRunner.h"

#include "llvm/ADT/StringMap.h"

namespace llvm {
class CallBase;
} // namespace llvm

namespace mlcb {

/// The tensors of inliner.def that are there with the parameter `context`, over one episode.
class CallContext {
public:
  /// Fills the tensors in for a call.
  void write(const llvm::CallBase &Call, ModelRunner &Policy) const;

  /// Hears what was decided about a call.
  void answered(const llvm::CallBase &Call, bool Inline);

private:
  struct Answers {
    int64_t Inlined = 0, Left = 0;
  };
  /// By name, which outlives the function.
  llvm::StringMap<Answers> ByCallee;
};

} // namespace mlcb
