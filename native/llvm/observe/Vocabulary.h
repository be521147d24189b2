// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The IR2Vec seed vocabulary: a vector for each kind of opcode, type, operand and predicate.
#pragma once

#include "spec/Error.h"

#include "llvm/Analysis/IR2Vec.h"

#include <string>
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

  /// Whether it is the one that a task is bound with; a SpecMismatch if not. An empty digest is any.
  Expected<void> expect(int64_t Dimension, llvm::StringRef Digest) const;

  unsigned dimension() const { return Dimension; }

  /// hexDigest() of the file.
  llvm::StringRef digest() const { return Digest; }

  llvm::ArrayRef<float> operator[](Entity E) const { return llvm::ArrayRef(Seeds).slice(size_t{E} * Dimension, Dimension); }

private:
  unsigned Dimension = 0;
  std::string Digest;
  std::vector<float> Seeds; // [NumEntities][Dimension]
};

} // namespace mlcb
