// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The walk over a function. See FingerprintContents.cpp for what functions share.
#include "llvm/measure/Fingerprint.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb::measure {

namespace {
/// Says in its upper byte what an operand is.
enum Tag : uint64_t {
  TagLocal = 1ull << 56,
  TagInteger = 2ull << 56,
  TagGlobal = 3ull << 56,
  TagConstant = 4ull << 56,
  TagBlockAddress = 5ull << 56,
  TagAsm = 6ull << 56,
  TagMetadata = 7ull << 56,
  TagNull = 8ull << 56,
  TagSeenNode = 9ull << 56,
  TagNode = 10ull << 56,
  TagString = 11ull << 56,
  TagArgList = 12ull << 56,
  TagBlock = 13ull << 56,
  TagReferences = 14ull << 56,
  TagUse = 15ull << 56,
};
} // namespace

FunctionPrint Fingerprinter::print(const Function &F) {
  FunctionPrint Result;
  Current = &Result;
  CurrentFunction = &F;
  Stream.clear();
  Numbers.clear();
  Nodes.clear();
  Referred.clear();
  number(F);
  addHeader(F);
  for (const BasicBlock &Block : F) {
    Stream.add(TagBlock | Block.size());
    addUseOrder(Block);
    if (Block.hasAddressTaken())
      addAddressTaken(Block);
    for (const Instruction &I : Block)
      addInstruction(I);
  }
  addReferences();
  Stream.add(Context);
  Result.Value = Stream.hash();
  return Result;
}

void Fingerprinter::number(const Function &F) {
  unsigned Next = 0;
  for (const Argument &A : F.args())
    Numbers[&A] = Next++;
  for (const BasicBlock &Block : F) {
    Numbers[&Block] = Next++;
    for (const Instruction &I : Block)
      Numbers[&I] = Next++;
  }
}

/// Predecessors are found by it, and users visited in it.
void Fingerprinter::addUseOrder(const Value &V) {
  if (!V.hasNUsesOrMore(2))
    return;
  for (const Use &U : V.uses())
    if (auto User = Numbers.find(U.getUser()); User != Numbers.end()) // no constant, as the address of a block
      Stream.add(TagUse | uint64_t(U.getOperandNo()) << 32 | User->second);
}

static bool hasOwnSurroundings(const Function &F) {
  return F.hasPersonalityFn() || F.hasGC() || F.hasPrefixData() || F.hasPrologueData() || F.hasSection() || F.hasComdat() || F.hasPartition() ||
         F.hasMetadata(LLVMContext::MD_dbg) || F.hasMetadata(LLVMContext::MD_associated) || F.hasMetadata(LLVMContext::MD_pcsections) ||
         F.hasFnAttribute("patchable-function") || F.hasFnAttribute("patchable-function-entry") || F.hasFnAttribute("patchable-function-prefix") ||
         F.hasFnAttribute("function-instrument") || F.hasFnAttribute("xray-instruction-threshold") || F.hasFnAttribute("fentry-call");
}

void Fingerprinter::addHeader(const Function &F) {
  Current->Isolated &= !hasOwnSurroundings(F);
  refer(&F);
  for (const Argument &A : F.args())
    addUseOrder(A);
  SmallVector<std::pair<unsigned, MDNode *>, 4> Attached;
  F.getAllMetadata(Attached);
  addAttachments(Attached);
}

/// Only the uses that a copy of the function would have: a use by another function or a dead constant is not one.
void Fingerprinter::addAddressTaken(const BasicBlock &Block) {
  SmallVector<const User *, 8> Users{BlockAddress::lookup(&Block)};
  SmallPtrSet<const User *, 8> Seen;
  while (!Users.empty()) {
    const User *U = Users.pop_back_val();
    if (!U || !Seen.insert(U).second)
      continue;
    if (auto *G = dyn_cast<GlobalValue>(U)) {
      refer(G);
      Stream.add(TagBlockAddress);
    } else if (auto *I = dyn_cast<Instruction>(U)) {
      Current->Isolated &= I->getFunction() == CurrentFunction;
      Stream.add(TagBlockAddress);
    } else {
      append_range(Users, U->users());
    }
  }
}

void Fingerprinter::addInstruction(const Instruction &I) {
  bool HasAttachments = I.hasMetadataOtherThanDebugLoc();
  Stream.add(I.getOpcode() | uint64_t(I.getRawSubclassOptionalData()) << 8 | uint64_t(HasAttachments) << 16 | uint64_t(I.getNumOperands()) << 32);
  Stream.add(type(I.getType()).Low);
  addUseOrder(I);
  addSpecialState(I);
  for (const Use &U : I.operands())
    addOperand(U.get());
  if (HasAttachments) {
    SmallVector<std::pair<unsigned, MDNode *>, 4> Attached;
    I.getAllMetadataOtherThanDebugLoc(Attached);
    addAttachments(Attached);
  }
  Current->Isolated &= !I.getDebugLoc() && !I.hasDbgRecords();
}

void Fingerprinter::addSpecialState(const Instruction &I) {
  if (auto *C = dyn_cast<CmpInst>(&I))
    return Stream.add(C->getPredicate());
  if (auto *C = dyn_cast<CallBase>(&I))
    return addCall(*C);
  if (auto *Phi = dyn_cast<PHINode>(&I)) {
    for (const BasicBlock *Incoming : Phi->blocks())
      addOperand(Incoming);
  } else if (auto *A = dyn_cast<AllocaInst>(&I)) {
    Stream.add(type(A->getAllocatedType()));
    Stream.add(Log2(A->getAlign()) << 2 | A->isUsedWithInAlloca() << 1 | A->isSwiftError());
  } else if (auto *G = dyn_cast<GetElementPtrInst>(&I)) {
    Stream.add(type(G->getSourceElementType()));
  } else if (auto *S = dyn_cast<SwitchInst>(&I)) {
    for (const auto &Case : S->cases())
      Stream.add(Case.getCaseValue()->getValue());
  } else if (auto *S = dyn_cast<ShuffleVectorInst>(&I)) {
    for (int Lane : S->getShuffleMask())
      Stream.add(uint64_t(int64_t(Lane)));
    Stream.add(S->getShuffleMask().size());
  } else if (auto *E = dyn_cast<ExtractValueInst>(&I)) {
    addIndices(E->getIndices());
  } else if (auto *V = dyn_cast<InsertValueInst>(&I)) {
    addIndices(V->getIndices());
  } else if (I.isAtomic() || isa<LoadInst, StoreInst>(I)) {
    addMemoryState(I);
  } else if (I.isEHPad()) {
    Current->Isolated = false;
  }
}

void Fingerprinter::addIndices(ArrayRef<unsigned> Indices) {
  Stream.add(Indices.size());
  for (unsigned Index : Indices)
    Stream.add(Index);
}

void Fingerprinter::addMemoryState(const Instruction &I) {
  auto Add = [&](Align A, bool Volatile, AtomicOrdering Order, SyncScope::ID Scope) {
    Stream.add(Log2(A) | uint64_t(Volatile) << 8 | uint64_t(Order) << 16 | uint64_t(Scope) << 32);
  };
  if (auto *L = dyn_cast<LoadInst>(&I)) {
    Add(L->getAlign(), L->isVolatile(), L->getOrdering(), L->getSyncScopeID());
  } else if (auto *S = dyn_cast<StoreInst>(&I)) {
    Add(S->getAlign(), S->isVolatile(), S->getOrdering(), S->getSyncScopeID());
  } else if (auto *F = dyn_cast<FenceInst>(&I)) {
    Add(Align(), false, F->getOrdering(), F->getSyncScopeID());
  } else if (auto *R = dyn_cast<AtomicRMWInst>(&I)) {
    Add(R->getAlign(), R->isVolatile(), R->getOrdering(), R->getSyncScopeID());
    Stream.add(R->getOperation());
  } else if (auto *X = dyn_cast<AtomicCmpXchgInst>(&I)) {
    Add(X->getAlign(), X->isVolatile(), X->getSuccessOrdering(), X->getSyncScopeID());
    Stream.add(uint64_t(X->getFailureOrdering()) << 1 | X->isWeak());
  }
}

void Fingerprinter::addCall(const CallBase &C) {
  uint64_t TailKind = 0;
  if (auto *Plain = dyn_cast<CallInst>(&C))
    TailKind = Plain->getTailCallKind();
  Stream.add(C.getCallingConv() | TailKind << 16 | uint64_t(C.getNumOperandBundles()) << 32);
  Stream.add(type(C.getFunctionType()));
  Stream.add(attributes(C.getAttributes()));
  for (unsigned I = 0, E = C.getNumOperandBundles(); I != E; ++I) {
    OperandBundleUse Bundle = C.getOperandBundleAt(I);
    Stream.add(Bundle.getTagName());
    Stream.add(Bundle.Inputs.size());
  }
}

void Fingerprinter::addOperand(const Value *V) {
  if (!V)
    return Stream.add(TagNull);
  if (auto *C = dyn_cast<Constant>(V))
    return addConstantOperand(C);
  if (isa<Instruction, Argument, BasicBlock>(V))
    return Stream.add(TagLocal | Numbers.find(V)->second);
  if (auto *Wrapped = dyn_cast<MetadataAsValue>(V))
    return addMetadata(Wrapped->getMetadata());
  addAsm(*cast<InlineAsm>(V));
}

/// Directives in it may emit anything anywhere.
void Fingerprinter::addAsm(const InlineAsm &Asm) {
  Current->Isolated &= !Asm.getAsmString().contains('.');
  Stream.add(TagAsm | Asm.hasSideEffects() | Asm.isAlignStack() << 1 | Asm.canThrow() << 2 | Asm.getDialect() << 3);
  Stream.add(type(Asm.getFunctionType()));
  Stream.add(Asm.getAsmString());
  Stream.add(Asm.getConstraintString());
}

void Fingerprinter::addConstantOperand(const Constant *C) {
  if (auto *G = dyn_cast<GlobalValue>(C)) {
    refer(G);
    Stream.add(TagGlobal);
    return Stream.add(name(*G));
  }
  if (auto *N = dyn_cast<ConstantInt>(C); N && N->getBitWidth() <= 64 && !N->getType()->isVectorTy()) {
    Stream.add(TagInteger | N->getBitWidth());
    return Stream.add(N->getZExtValue());
  }
  const ConstantPrint &Print = constant(C);
  Current->Isolated &= Print.Isolated;
  Current->Isolated &= !Print.AddressOf || Print.AddressOf == CurrentFunction;
  for (const GlobalValue *G : Print.Globals)
    refer(G);
  Stream.add(TagConstant);
  Stream.add(Print.Value);
}

void Fingerprinter::addMetadata(const Metadata *M) {
  if (!M)
    return Stream.add(TagNull);
  if (auto *Node = dyn_cast<MDNode>(M))
    return addNode(*Node);
  if (auto *Text = dyn_cast<MDString>(M)) {
    Stream.add(TagString);
    return Stream.add(Text->getString());
  }
  if (auto *Wrapped = dyn_cast<ValueAsMetadata>(M)) {
    Stream.add(TagMetadata);
    Stream.add(type(Wrapped->getType()));
    return addOperand(Wrapped->getValue());
  }
  // Lists of arguments belong to debug information.
  Current->Isolated = false;
}

/// A distinct node is known by the place of its first mention.
void Fingerprinter::addNode(const MDNode &Node) {
  auto [Place, IsNew] = Nodes.try_emplace(&Node, Nodes.size());
  if (!IsNew)
    return Stream.add(TagSeenNode | Place->second);
  Stream.add(TagNode | Node.isDistinct() | uint64_t(Node.getMetadataID()) << 1 | uint64_t(Node.getNumOperands()) << 16);
  Current->Isolated &= isa<MDTuple>(Node);
  for (const MDOperand &Op : Node.operands())
    addMetadata(Op.get());
}

void Fingerprinter::addAttachments(ArrayRef<std::pair<unsigned, MDNode *>> Attached) {
  Stream.add(Attached.size());
  for (auto [Kind, Node] : Attached) {
    Stream.add(metadataKind(Kind));
    addNode(*Node);
  }
}

void Fingerprinter::refer(const GlobalValue *G) {
  if (Referred.insert(G).second)
    Current->References.push_back(G);
}

/// The list grows while it is walked: what constants contain is part of what the code may depend on.
void Fingerprinter::addReferences() {
  // NOLINTNEXTLINE(modernize-loop-convert)
  for (size_t I = 0; I < Current->References.size(); ++I) {
    const GlobalPrint &Print = global(*Current->References[I]);
    Current->Isolated &= Print.Isolated && (!Print.AddressOf || Print.AddressOf == CurrentFunction);
    Stream.add(Print.Value);
    for (const GlobalValue *Content : Print.Contents)
      refer(Content);
  }
  Stream.add(TagReferences | Current->References.size());
}

} // namespace mlcb::measure
