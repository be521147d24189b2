// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keys of functions: all that the code of a function depends on, and nothing that it does not.
#pragma once

#include "llvm/measure/HashStream.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/Attributes.h"

namespace llvm {
class BasicBlock;
class BlockAddress;
class CallBase;
class Constant;
class Function;
class GEPOperator;
class GlobalValue;
class GlobalVariable;
class InlineAsm;
class Instruction;
class MDNode;
class Metadata;
class Module;
class Type;
class Value;
} // namespace llvm

namespace mlcb::measure {

struct FunctionPrint {
  Key Value;
  /// The globals its code may depend on, in the order of their first mention: those its body names, and those that the
  /// initializers of constants among them name in turn.
  llvm::SmallVector<const llvm::GlobalValue *, 8> References;
  /// Whether what surrounds the function has no part in its code. Otherwise Value means nothing.
  bool Isolated = true;
};

/// Serialises functions of one module, exactly: every operand, type, flag, attribute and metadata node. Where a property is left out, code
/// generation does not see it (names of local values). Valid while the module does not change.
class Fingerprinter {
public:
  /// Target stands for everything outside the module that code depends on.
  Fingerprinter(const llvm::Module &M, Key Target);

  FunctionPrint print(const llvm::Function &F);

  /// Of the module's flags, data layout and target.
  Key context() const { return Context; }

private:
  struct ConstantPrint {
    Key Value;
    llvm::SmallVector<const llvm::GlobalValue *, 1> Globals;
    const llvm::Function *AddressOf = nullptr; // whose blocks it holds addresses of
    bool Isolated = true;                      // not of several functions
  };
  struct GlobalPrint {
    Key Value;                                                // without the contents of other globals
    llvm::SmallVector<const llvm::GlobalValue *, 2> Contents; // globals that a constant's initializer names
    const llvm::Function *AddressOf = nullptr;
    bool Isolated = true;
  };

  Key type(llvm::Type *T);
  Key attributes(llvm::AttributeList List);
  void addAttribute(HashStream &S, llvm::Attribute A);
  const ConstantPrint &constant(const llvm::Constant *C);
  void addConstant(HashStream &S, const llvm::Constant &C, ConstantPrint &Print);
  void addElement(HashStream &S, const llvm::Constant &C, ConstantPrint &Print);
  void addGep(HashStream &S, const llvm::GEPOperator &Gep);
  void addBlockAddress(HashStream &S, const llvm::BlockAddress &Address, ConstantPrint &Print);
  void noteAddressOf(ConstantPrint &Print, const llvm::Function *F);
  Key name(const llvm::GlobalValue &G);
  void addVariable(HashStream &S, const llvm::GlobalVariable &V, GlobalPrint &Print);
  const GlobalPrint &global(const llvm::GlobalValue &G);
  Key metadataKind(unsigned Kind);

  // Of the function at hand.
  void number(const llvm::Function &F);
  void addUseOrder(const llvm::Value &V);
  void addHeader(const llvm::Function &F);
  void addAddressTaken(const llvm::BasicBlock &Block);
  void addInstruction(const llvm::Instruction &I);
  void addSpecialState(const llvm::Instruction &I);
  void addIndices(llvm::ArrayRef<unsigned> Indices);
  void addMemoryState(const llvm::Instruction &I);
  void addCall(const llvm::CallBase &C);
  void addAsm(const llvm::InlineAsm &Asm);
  void addOperand(const llvm::Value *V);
  void addConstantOperand(const llvm::Constant *C);
  void addMetadata(const llvm::Metadata *M);
  void addNode(const llvm::MDNode &Node);
  void addAttachments(llvm::ArrayRef<std::pair<unsigned, llvm::MDNode *>> Attached);
  void refer(const llvm::GlobalValue *G);
  void addReferences();

  const llvm::Module &M;
  Key Context;
  llvm::DenseMap<llvm::Type *, Key> Types;
  llvm::DenseMap<const void *, Key> AttributeLists;
  llvm::DenseMap<const llvm::Constant *, std::unique_ptr<ConstantPrint>> Constants;
  llvm::DenseMap<const llvm::GlobalValue *, std::unique_ptr<GlobalPrint>> Globals;
  llvm::DenseMap<const llvm::GlobalValue *, Key> Names;
  llvm::DenseMap<unsigned, Key> Kinds;
  llvm::DenseMap<const llvm::BasicBlock *, unsigned> BlockIndices;

  HashStream Stream;
  FunctionPrint *Current = nullptr;
  const llvm::Function *CurrentFunction = nullptr;
  llvm::DenseMap<const llvm::Value *, unsigned> Numbers;
  llvm::DenseMap<const llvm::Metadata *, unsigned> Nodes;
  llvm::DenseSet<const llvm::GlobalValue *> Referred;
};

} // namespace mlcb::measure
