// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/CodeReader.h"

#include "llvm/measure/FunctionBytes.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/MachineConstantPool.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineJumpTableInfo.h"
#include "llvm/MC/MCAssembler.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/MC/MCSection.h"
#include "llvm/MC/MCValue.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace mlcb::measure {

static constexpr unsigned Far = 255;

static void append(Piece &P, uint64_t Bytes, Align A) {
  P.Bytes = alignTo(P.Bytes, A) + Bytes;
  P.LogAlign = std::max<uint8_t>(P.LogAlign, Log2(A));
}

static void notePools(const MachineFunction &MF, FunctionCode &Code) {
  const DataLayout &DL = MF.getDataLayout();
  for (const MachineConstantPoolEntry &Entry : MF.getConstantPool()->getConstants()) {
    SectionKind Kind = Entry.getSectionKind(&DL);
    Piece &P = Kind.isMergeableConst4()    ? Code.Pools[0]
               : Kind.isMergeableConst8()  ? Code.Pools[1]
               : Kind.isMergeableConst16() ? Code.Pools[2]
               : Kind.isMergeableConst32() ? Code.Pools[3]
                                           : Code.OtherPool;
    append(P, Entry.getSizeInBytes(DL), Entry.getAlign());
    Code.Composable &= Kind.isReadOnly() || Kind.isMergeableConst();
  }
}

static void noteJumpTables(const MachineFunction &MF, FunctionCode &Code) {
  const MachineJumpTableInfo *Info = MF.getJumpTableInfo();
  if (!Info)
    return;
  const DataLayout &DL = MF.getDataLayout();
  for (const MachineJumpTableEntry &Table : Info->getJumpTables())
    if (!Table.MBBs.empty())
      append(Code.JumpTables, Table.MBBs.size() * Info->getEntrySize(DL), Align(Info->getEntryAlignment(DL)));
}

void CodeReader::note(MachineFunction &MF) {
  const Function &F = MF.getFunction();
  Entry E{&F, {}, MF.getTarget().getSymbol(&F)};
  E.Code.Composable = true;
  E.Code.Text.LogAlign = Log2(AsmPrinter::getGVAlignment(&F, MF.getDataLayout(), MF.getAlignment()));
  notePools(MF, E.Code);
  noteJumpTables(MF, E.Code);
  Entries.push_back(E);
}

void CodeReader::read(MCObjectStreamer &Streamer, JumpResolver Resolve) {
  const MCAssembler &Layout = Streamer.getAssembler();
  SmallPtrSet<const MCSection *, 4> Sections;
  for (Entry &E : Entries) {
    readText(Layout, E);
    Sections.insert(&E.Symbol->getSection());
  }
  for (const MCSection *Section : Sections)
    readJumps(Layout, *Section, Resolve);
  readFrames(Streamer);
}

static TextSection textSection(StringRef Name) {
  return StringSwitch<TextSection>(Name)
      .Case(".text", TextSection::Plain)
      .Case(".text.hot.", TextSection::Hot)
      .Case(".text.unlikely.", TextSection::Unlikely)
      .Default(TextSection::Other);
}

void CodeReader::readText(const MCAssembler &Layout, Entry &E) {
  const std::optional<uint64_t> Bytes = symbolBytes(Layout, *E.Symbol);
  E.Start = Layout.getSymbolOffset(*E.Symbol);
  E.Code.Text.Bytes = Bytes.value_or(0);
  E.Code.Section = textSection(E.Symbol->getSection().getName());
  E.Code.Composable &= Bytes && E.Code.Section != TextSection::Other;
}

namespace {
/// A place in a section whose bytes may become fewer when distances change.
struct SoftSpot {
  uint64_t End;
  unsigned Slack;
  uint8_t LogAlign;
  const MCSymbol *Target; // of a jump out of the function
};
} // namespace

static const MCSymbol *jumpTarget(const MCAssembler &Layout, const MCFragment &F) {
  MCValue Value;
  if (F.getVarFixups().size() != 1 || !F.getVarFixups()[0].getValue()->evaluateAsRelocatable(Value, &Layout))
    return nullptr;
  const MCSymbol *Symbol = Value.getAddSym();
  return Symbol && !Symbol->isTemporary() ? Symbol : nullptr;
}

static SmallVector<SoftSpot, 0> softSpots(const MCAssembler &Layout, const MCSection &Section) {
  static constexpr unsigned ShortJump = 2;
  SmallVector<SoftSpot, 0> Spots;
  for (const MCFragment &F : Section) {
    if (F.getKind() == MCFragment::FT_Data)
      continue;
    uint64_t Size = Layout.computeFragmentSize(F);
    uint64_t End = Layout.getFragmentOffset(F) + Size;
    unsigned Soft = Size - F.getFixedSize();
    if (F.getKind() == MCFragment::FT_Relaxable)
      Spots.push_back({End, Soft - std::min(Soft, ShortJump), 0, jumpTarget(Layout, F)});
    else if (F.getKind() == MCFragment::FT_Align)
      Spots.push_back({End, Soft, static_cast<uint8_t>(Log2(F.getAlignment())), nullptr});
    else
      Spots.push_back({End, Soft, 0, nullptr});
  }
  return Spots;
}

static uint8_t clamp(uint64_t Bytes) { return std::min<uint64_t>(Bytes, Far); }

static void addFarJump(FunctionCode &Code, FarJump Jump) {
  if (Jump.MinBefore == Far && Jump.MinAfter == Far)
    return; // long wherever its target is
  if (Code.NumFarJumps == FunctionCode::MaxFarJumps)
    Code.Composable = false;
  else
    Code.FarJumps[Code.NumFarJumps++] = Jump;
}

static void addFarJumps(CodeReader::Entry &E, ArrayRef<SoftSpot> Spots, CodeReader::JumpResolver Resolve) {
  unsigned Slack = 0, Before = 0;
  for (const SoftSpot &Spot : Spots) {
    Slack += Spot.Slack;
    // Its padding would depend on where the function lies.
    E.Code.Composable &= Spot.LogAlign <= E.Code.Text.LogAlign;
  }
  uint64_t End = E.Start + E.Code.Text.Bytes;
  E.Code.MinText = clamp(E.Code.Text.Bytes - Slack);
  for (const SoftSpot &Spot : Spots) {
    Before += Spot.Slack;
    if (!Spot.Target)
      continue;
    if (auto Target = Resolve(*E.F, Spot.Target->getName()))
      addFarJump(E.Code, {*Target, clamp(Spot.End - E.Start - Before), clamp(End - Spot.End - (Slack - Before))});
  }
}

void CodeReader::readJumps(const MCAssembler &Layout, const MCSection &Section, JumpResolver Resolve) {
  SmallVector<SoftSpot, 0> Spots = softSpots(Layout, Section);
  ArrayRef<SoftSpot> Rest = Spots;
  for (Entry &E : Entries) {
    if (&E.Symbol->getSection() != &Section)
      continue;
    Rest = Rest.drop_while([&](const SoftSpot &S) { return S.End <= E.Start; });
    auto Mine = Rest.take_while([&](const SoftSpot &S) { return S.End <= E.Start + E.Code.Text.Bytes; });
    addFarJumps(E, Mine, Resolve);
    Rest = Rest.drop_front(Mine.size());
  }
}

/// Bytes of the records of a frame section, each padded to 4. A record ends in a fragment that aligns the next (the last one better).
static SmallVector<uint32_t, 0> frameRecords(const MCAssembler &Layout) {
  SmallVector<uint32_t, 0> Records;
  for (const MCSection &Section : Layout) {
    if (Section.getName() != ".eh_frame")
      continue;
    uint64_t Start = 0;
    for (const MCFragment &F : Section) {
      if (F.getKind() != MCFragment::FT_Align)
        continue;
      uint64_t Offset = Layout.getFragmentOffset(F);
      Records.push_back(alignTo(Offset + F.getFixedSize() - Start, 4));
      Start = Offset + Layout.computeFragmentSize(F);
    }
  }
  return Records;
}

void CodeReader::readFrames(MCObjectStreamer &Streamer) {
  const MCAssembler &Layout = Streamer.getAssembler();
  ArrayRef<MCDwarfFrameInfo> Frames = Streamer.getDwarfFrameInfos();
  SmallVector<uint32_t, 0> Records = frameRecords(Layout);
  // One more than frames: the CIE that they share. Otherwise there are several, or another kind of frame section.
  bool Shared = Frames.empty() ? Records.empty() : Records.size() == Frames.size() + 1;
  for (Entry &E : Entries)
    E.Code.Composable &= Shared;
  if (!Shared || Frames.empty())
    return;
  size_t Next = 0;
  for (Entry &E : Entries) {
    if (!E.F->needsUnwindTableEntry() || Next == Frames.size() || Layout.getSymbolOffset(*Frames[Next].Begin) != E.Start)
      continue;
    E.Code.CieBytes = Records[0];
    E.Code.FrameBytes = Records[++Next];
  }
  for (Entry &E : Entries)
    E.Code.Composable &= Next == Frames.size();
}

} // namespace mlcb::measure
