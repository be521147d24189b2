// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A module as the numbers a policy sees.
#pragma once

#include "llvm/observe/Embedding.h"

#include <cstdint>
#include <span>

namespace llvm {
class Module;
}

namespace mlcb {

enum class EmbeddingKind { Symbolic, FlowAware };

inline constexpr unsigned NumOpcodes = llvm::ir2vec::Vocabulary::MaxOpcodes;

/// Where an observation goes: the buffers of the tensors of the same names; what has no buffer is not worked out.
struct ModuleView {
  std::span<float> Embedding;    // [dimension of the vocabulary]
  std::span<int64_t> Opcodes;    // [NumOpcodes]
  std::span<int64_t> Properties; // [NumProperties]
};

/// Fills observations of modules; never changes them.
class ModuleObserver {
public:
  /// Seeds may be null where no embedding is asked for.
  ModuleObserver(const Vocabulary *Seeds, EmbeddingKind Kind) : Seeds(Seeds), Kind(Kind) {}

  void observe(llvm::Module &M, ModuleView Out) const;

private:
  void add(const llvm::Function &F, EntityCounts &Counts) const;

  const Vocabulary *Seeds;
  EmbeddingKind Kind;
};

} // namespace mlcb
