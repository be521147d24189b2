// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/SectionSums.h"

#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetLoweringObjectFile.h"
#include "llvm/Target/TargetMachine.h"

#include <numeric>
#include <optional>

using namespace llvm;

namespace mlcb::measure {

void SectionSums::add(unsigned Section, uint64_t Bytes, unsigned LogAlign) {
  if (Bytes)
    Sums[Section] = alignTo(Sums[Section], Align(1ull << LogAlign)) + Bytes;
}

void SectionSums::addTables(const FunctionCode &Code) {
  for (unsigned I = 0; I < Code.Pools.size(); ++I)
    add(Const4 + I, Code.Pools[I]);
  add(Rodata, Code.OtherPool);
  add(Rodata, Code.JumpTables);
}

void SectionSums::addText(TextSection Section, Piece P) { add(Text + static_cast<unsigned>(Section), P); }

// See MCDwarfFrameEmitter: records are padded to 4 bytes, the section to a pointer.
void SectionSums::addFrame(uint32_t CieBytes, uint32_t Bytes) {
  if (Frames == 0)
    Frames = CieBytes;
  Frames = alignTo(Frames, 4) + Bytes;
}

/// Of a global with no section of its own, see TargetLoweringObjectFileELF; none where the kind is not known here.
static std::optional<unsigned> sectionOf(SectionKind Kind, Align Preferred) {
  if (Kind.isMergeableCString()) {
    unsigned LogSize = Kind.isMergeable1ByteCString() ? 0 : Kind.isMergeable2ByteCString() ? 1 : 2;
    return Log2(Preferred) < 8 ? std::optional(SectionSums::Strings + LogSize * 8 + Log2(Preferred)) : std::nullopt;
  }
  using Test = bool (SectionKind::*)() const;
  static constexpr std::pair<Test, unsigned> Sections[] = {
      {&SectionKind::isMergeableConst4, SectionSums::Const4},   {&SectionKind::isMergeableConst8, SectionSums::Const8},
      {&SectionKind::isMergeableConst16, SectionSums::Const16}, {&SectionKind::isMergeableConst32, SectionSums::Const32},
      {&SectionKind::isReadOnly, SectionSums::Rodata},          {&SectionKind::isReadOnlyWithRel, SectionSums::DataRelRo},
      {&SectionKind::isThreadData, SectionSums::ThreadData},    {&SectionKind::isData, SectionSums::Data},
  };
  for (const auto &[Is, Section] : Sections)
    if ((Kind.*Is)())
      return Section;
  return std::nullopt;
}

bool SectionSums::isPlain(const GlobalVariable &G) {
  return (!G.hasSection() || G.getSection() == "llvm.metadata") && !G.hasComdat() && !G.hasMetadata() && !G.hasPartition() &&
         G.getCodeModel().value_or(CodeModel::Small) == CodeModel::Small;
}

bool SectionSums::addGlobal(const GlobalVariable &G, const TargetMachine &TM) {
  if (G.isDeclarationForLinker() || G.getSection() == "llvm.metadata")
    return true;
  SectionKind Kind = TargetLoweringObjectFile::getKindForGlobal(&G, TM);
  if (Kind.isBSS() || Kind.isThreadBSS() || Kind.isCommon())
    return true;
  const DataLayout &DL = G.getDataLayout();
  auto Section = sectionOf(Kind, DL.getPreferredAlign(&G));
  if (!Section)
    return false;
  add(*Section, DL.getTypeAllocSize(G.getValueType()), Log2(AsmPrinter::getGVAlignment(&G, DL)));
  return true;
}

Size SectionSums::size() const {
  uint64_t AllText = std::accumulate(Sums.begin() + Text, Sums.begin() + Rodata, uint64_t(0));
  uint64_t Other = std::accumulate(Sums.begin() + Rodata, Sums.end(), uint64_t(0));
  return {AllText + Other + alignTo(Frames, 8), AllText};
}

} // namespace mlcb::measure
