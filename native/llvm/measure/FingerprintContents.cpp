// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contents that functions share: types, attributes, constants and globals, each serialised once.
#include "llvm/measure/Fingerprint.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mlcb::measure {

Fingerprinter::Fingerprinter(const Module &M, Key Target) : M(M) {
  FunctionPrint Ignored;
  Current = &Ignored;
  Stream.add(Target);
  Stream.add(M.getTargetTriple().str());
  Stream.add(M.getDataLayoutStr());
  // Nodes of flags may be distinct: they are serialised as those of a function are.
  for (const NamedMDNode &Named : M.named_metadata()) {
    if (Named.getName() == "llvm.ident")
      continue;
    Stream.add(Named.getName());
    for (const MDNode *Node : Named.operands())
      addNode(*Node);
  }
  Context = Stream.hash();
}

Key Fingerprinter::type(Type *T) {
  if (auto Known = Types.find(T); Known != Types.end())
    return Known->second;
  HashStream S;
  S.add(T->getTypeID());
  if (auto *Integer = dyn_cast<IntegerType>(T)) {
    S.add(Integer->getBitWidth());
  } else if (auto *Pointer = dyn_cast<PointerType>(T)) {
    S.add(Pointer->getAddressSpace());
  } else if (auto *Array = dyn_cast<ArrayType>(T)) {
    S.add(Array->getNumElements());
  } else if (auto *Vector = dyn_cast<VectorType>(T)) {
    S.add(Vector->getElementCount().getKnownMinValue());
  } else if (auto *Struct = dyn_cast<StructType>(T)) {
    S.add(Struct->hasName() ? Struct->getName() : "");
    S.add(Struct->isPacked() << 1 | Struct->isOpaque());
  } else if (auto *Function = dyn_cast<FunctionType>(T)) {
    S.add(Function->isVarArg());
  } else if (auto *Extension = dyn_cast<TargetExtType>(T)) {
    S.add(Extension->getName());
    for (unsigned Parameter : Extension->int_params())
      S.add(Parameter);
  }
  S.add(T->getNumContainedTypes());
  for (Type *Inner : T->subtypes())
    S.add(type(Inner));
  return Types[T] = S.hash();
}

void Fingerprinter::addAttribute(HashStream &S, Attribute A) {
  if (A.isStringAttribute()) {
    S.add(A.getKindAsString());
    return S.add(A.getValueAsString());
  }
  S.add(A.getKindAsEnum());
  if (A.isIntAttribute())
    S.add(A.getValueAsInt());
  else if (A.isTypeAttribute())
    S.add(A.getValueAsType() ? type(A.getValueAsType()) : Key());
  else if (!A.isEnumAttribute())
    S.add(A.getAsString()); // of ranges: the text is complete
}

Key Fingerprinter::attributes(AttributeList List) {
  auto [Place, IsNew] = AttributeLists.try_emplace(List.getRawPointer());
  if (!IsNew)
    return Place->second;
  HashStream S;
  for (unsigned Index : List.indexes()) {
    S.add(Index);
    S.add(List.getAttributes(Index).getNumAttributes());
    for (Attribute A : List.getAttributes(Index))
      addAttribute(S, A);
  }
  return AttributeLists[List.getRawPointer()] = S.hash();
}

const Fingerprinter::ConstantPrint &Fingerprinter::constant(const Constant *C) {
  if (auto Known = Constants.find(C); Known != Constants.end())
    return *Known->second;
  auto Print = std::make_unique<ConstantPrint>();
  HashStream S;
  S.add(C->getValueID());
  S.add(type(C->getType()));
  addConstant(S, *C, *Print);
  Print->Value = S.hash();
  return *(Constants[C] = std::move(Print));
}

void Fingerprinter::addConstant(HashStream &S, const Constant &C, ConstantPrint &Print) {
  if (auto *Integer = dyn_cast<ConstantInt>(&C))
    return S.add(Integer->getValue());
  if (auto *Float = dyn_cast<ConstantFP>(&C))
    return S.add(Float->getValue().bitcastToAPInt());
  if (auto *Data = dyn_cast<ConstantDataSequential>(&C))
    return S.add(Data->getRawDataValues());
  if (auto *Address = dyn_cast<BlockAddress>(&C))
    return addBlockAddress(S, *Address, Print);
  if (auto *Expr = dyn_cast<ConstantExpr>(&C)) {
    S.add(Expr->getOpcode() | uint64_t(Expr->getRawSubclassOptionalData()) << 8);
    if (auto *Gep = dyn_cast<GEPOperator>(Expr))
      addGep(S, *Gep);
  }
  S.add(C.getNumOperands());
  for (const Use &U : C.operands())
    addElement(S, *cast<Constant>(U.get()), Print);
}

void Fingerprinter::addGep(HashStream &S, const GEPOperator &Gep) {
  S.add(type(Gep.getSourceElementType()));
  if (auto Range = Gep.getInRange()) {
    S.add(Range->getLower());
    S.add(Range->getUpper());
  }
}

void Fingerprinter::addElement(HashStream &S, const Constant &C, ConstantPrint &Print) {
  if (auto *G = dyn_cast<GlobalValue>(&C)) {
    Print.Globals.push_back(G);
    return S.add(name(*G));
  }
  const ConstantPrint &Inner = constant(&C);
  S.add(Inner.Value);
  Print.Globals.append(Inner.Globals.begin(), Inner.Globals.end());
  Print.Isolated &= Inner.Isolated;
  if (Inner.AddressOf)
    noteAddressOf(Print, Inner.AddressOf);
}

void Fingerprinter::addBlockAddress(HashStream &S, const BlockAddress &Address, ConstantPrint &Print) {
  const Function *F = Address.getFunction();
  auto [Place, IsNew] = BlockIndices.try_emplace(Address.getBasicBlock());
  if (IsNew)
    for (unsigned Next = 0; const BasicBlock &Block : *F)
      BlockIndices[&Block] = Next++;
  S.add(name(*F));
  S.add(BlockIndices[Address.getBasicBlock()]);
  noteAddressOf(Print, F);
}

void Fingerprinter::noteAddressOf(ConstantPrint &Print, const Function *F) {
  Print.Isolated &= !Print.AddressOf || Print.AddressOf == F;
  Print.AddressOf = F;
}

Key Fingerprinter::name(const GlobalValue &G) {
  auto [Place, IsNew] = Names.try_emplace(&G);
  if (IsNew) {
    StringRef Name = G.getName();
    // One without a name is told apart by its place.
    Place->second = Name.empty() ? Key{~uint64_t(0), Names.size()} : hashBytes(arrayRefFromStringRef(Name));
  }
  return Place->second;
}

const Fingerprinter::GlobalPrint &Fingerprinter::global(const GlobalValue &G) {
  auto [Place, IsNew] = Globals.try_emplace(&G);
  if (!IsNew)
    return *Place->second;
  auto Print = std::make_unique<GlobalPrint>();
  HashStream S;
  S.add(name(G));
  S.add(type(G.getValueType()));
  S.add(G.getLinkage() | G.getVisibility() << 8 | G.isDSOLocal() << 12 | G.getThreadLocalMode() << 16 | G.getAddressSpace() << 24);
  S.add(G.getDLLStorageClass() | G.hasPartition() << 4 | uint64_t(G.getUnnamedAddr()) << 8 | G.isDeclaration() << 16);
  if (auto *F = dyn_cast<Function>(&G)) {
    S.add(F->getCallingConv() | uint64_t(F->getAlign() ? 1 + Log2(*F->getAlign()) : 0) << 32);
    S.add(attributes(F->getAttributes()));
  } else if (auto *V = dyn_cast<GlobalVariable>(&G)) {
    addVariable(S, *V, *Print);
  } else {
    Print->Isolated = false; // what an alias stands for is its surroundings
  }
  Print->Value = S.hash();
  return *(Globals[&G] = std::move(Print));
}

void Fingerprinter::addVariable(HashStream &S, const GlobalVariable &V, GlobalPrint &Print) {
  S.add(V.isConstant() | V.hasInitializer() << 1 | V.isExternallyInitialized() << 2 | V.hasSection() << 3 |
        uint64_t(V.getAlign() ? 1 + Log2(*V.getAlign()) : 0) << 32);
  S.add(V.getSection());
  S.add(V.getCodeModel() ? 1 + *V.getCodeModel() : 0);
  for (Attribute A : V.getAttributes())
    addAttribute(S, A);
  Print.Isolated &= !V.hasMetadata() && !V.hasComdat();
  if (!V.hasInitializer())
    return;
  const Constant &Initializer = *V.getInitializer();
  ConstantPrint Content;
  HashStream Values;
  addElement(Values, Initializer, Content);
  Print.AddressOf = Content.AddressOf;
  Print.Isolated &= Content.Isolated;
  if (!V.isConstant() && !Content.AddressOf)
    return; // code cannot know what a variable holds
  S.add(Values.hash());
  Print.Contents.append(Content.Globals.begin(), Content.Globals.end());
}

Key Fingerprinter::metadataKind(unsigned Kind) {
  auto [Place, IsNew] = Kinds.try_emplace(Kind);
  if (IsNew) {
    SmallVector<StringRef, 64> KindNames;
    M.getContext().getMDKindNames(KindNames);
    Place->second = hashBytes(arrayRefFromStringRef(KindNames[Kind]));
  }
  return Place->second;
}

} // namespace mlcb::measure
