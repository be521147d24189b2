// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vocabulary of machine instructions: a vector for each opcode of a target, each register class, and each kind of operand.
#pragma once

#include "llvm/observe/VocabularyFile.h"

#include "llvm/CodeGen/MachineFunction.h"

namespace mlcb {

/// Seed embeddings by the names that LLVM has in the target's description.
class MachineVocabulary {
public:
  /// Reads a vocabulary file; a section that is missing or a vector of another length is an error.
  static Expected<MachineVocabulary> read(llvm::StringRef Path);

  /// The vocabulary of this process, read at the first call: $MLCB_MACHINE_VOCABULARY, else -mlcb-machine-vocabulary, else the one that ships.
  static Expected<const MachineVocabulary *> shared();

  const VocabularyIdentity &identity() const { return Identity; }

  /// Adds the embedding of an instruction: the vector of its opcode, half of each that belongs to what it writes, and a fifth of each of its other
  /// operands, as IR2Vec weighs opcodes, types and arguments. What the vocabulary does not have is zero.
  void embed(const llvm::MachineInstr &Instruction, llvm::MutableArrayRef<float> Sum) const;

private:
  VocabularyIdentity Identity;
  VocabularyFile::Section Opcodes, Operands;
};

/// Writes what stands beside what in a function, a line each: two names, and the relation that the second has to the first, an opcode: 0 is written
/// by it, 1 comes next, 2 and more are its operands.
void writeTriplets(const llvm::MachineFunction &MF, llvm::raw_ostream &Out);

} // namespace mlcb
