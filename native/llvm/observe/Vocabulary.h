// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The IR2Vec seed vocabulary: a vector for each kind of opcode, type, operand and predicate.
#pragma once

#include "llvm/observe/VocabularyFile.h"

#include "llvm/Analysis/IR2Vec.h"

#include <vector>

namespace mlcb {

/// Index of an entity in the order of llvm::ir2vec::Vocabulary: opcodes, types, operands, predicates.
using Entity = unsigned;
inline constexpr unsigned NumEntities = llvm::ir2vec::Vocabulary::getCanonicalSize();

/// Seed embeddings in LLVM's JSON format, already weighted (opcodes 1, types 0.5, operands and predicates 0.2, as IR2Vec does).
class Vocabulary {
public:
  /// Reads a vocabulary file; a section that is missing or a vector of another length is an error, an absent entity is zero.
  static Expected<Vocabulary> read(llvm::StringRef Path);

  /// The vocabulary of this process, read at the first call: $MLCB_VOCABULARY, else -mlcb-vocabulary, else the one that ships.
  static Expected<const Vocabulary *> shared();

  const VocabularyIdentity &identity() const { return Identity; }

  unsigned dimension() const { return Identity.Dimension; }

  llvm::ArrayRef<float> operator[](Entity E) const { return llvm::ArrayRef(Seeds).slice(size_t{E} * dimension(), dimension()); }

private:
  VocabularyIdentity Identity;
  std::vector<float> Seeds; // [NumEntities][dimension()]
};

} // namespace mlcb
