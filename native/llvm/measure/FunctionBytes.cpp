// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/FunctionBytes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/MC/MCAssembler.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCExpr.h"
#include "llvm/MC/MCSection.h"
#include "llvm/MC/MCSymbolELF.h"
#include "llvm/MC/MCValue.h"
#include "llvm/Support/ErrorHandling.h"

#include <map>

using namespace llvm;

namespace mlcb::measure {

namespace {

class Shares {
public:
  explicit Shares(const MCAssembler &Layout) : Layout(Layout) {}

  void addText(StringRef Name) {
    Bytes.push_back(0);
    const MCSymbol *Symbol = Layout.getContext().lookupSymbol(Name);
    if (!Symbol || !Symbol->isInSection())
      return;
    Bytes.back() = symbolBytes(Layout, *Symbol).value_or(0);
    Begins[{&Symbol->getSection(), Layout.getSymbolOffset(*Symbol)}] = Bytes.size() - 1;
  }

  /// A record ends in a fragment that aligns the next one, and names the begin of its function.
  void addFrames(const MCSection &Section) {
    uint64_t Start = 0;
    uint64_t *Owner = nullptr;
    for (const MCFragment &Part : Section) {
      forEachLabel(Part, Section, [&](const MCSymbol &Label, const MCFixup &) {
        if (uint64_t *Found = find(Label, /*IsBegin=*/true))
          Owner = Found;
      });
      if (Part.getKind() != MCFragment::FT_Align)
        continue;
      const uint64_t End = Layout.getFragmentOffset(Part) + Layout.computeFragmentSize(Part);
      if (Owner)
        *Owner += End - Start;
      Start = End;
      Owner = nullptr;
    }
  }

  /// The entries of a jump table name places inside of their function.
  void addJumpTables(const MCSection &Section) {
    for (const MCFragment &Part : Section)
      forEachLabel(Part, Section, [&](const MCSymbol &Label, const MCFixup &Entry) {
        if (uint64_t *Owner = find(Label, /*IsBegin=*/false))
          *Owner += Entry.getKind() == FK_Data_8 ? 8 : 4;
      });
  }

  std::vector<uint64_t> Bytes;

private:
  using Place = std::pair<const MCSection *, uint64_t>;

  /// Labels that the fragment has the addresses of, or their distances from itself.
  void forEachLabel(const MCFragment &Part, const MCSection &Section, function_ref<void(const MCSymbol &, const MCFixup &)> Visit) {
    for (const MCFixup &Fixup : concat<const MCFixup>(Part.getFixups(), Part.getVarFixups())) {
      MCValue Value;
      if (!Fixup.getValue()->evaluateAsRelocatable(Value, &Layout) || !Value.getAddSym() || !Value.getAddSym()->isInSection())
        continue;
      const MCSymbol *From = Value.getSubSym();
      if (!From || (From->isInSection() && &From->getSection() == &Section))
        Visit(*Value.getAddSym(), Fixup);
    }
  }

  /// The function that begins at the label, or that has it inside.
  uint64_t *find(const MCSymbol &Label, bool IsBegin) {
    const Place At{&Label.getSection(), Layout.getSymbolOffset(Label)};
    auto Next = Begins.upper_bound(At);
    if (Next == Begins.begin())
      return nullptr;
    const auto &[Begin, Index] = *std::prev(Next);
    const bool Fits = IsBegin ? Begin == At : Begin.first == At.first && Begin.second < At.second && At.second - Begin.second < Bytes[Index];
    return Fits ? &Bytes[Index] : nullptr;
  }

  const MCAssembler &Layout;
  std::map<Place, size_t> Begins;
};

} // namespace

std::optional<uint64_t> symbolBytes(const MCAssembler &Layout, const MCSymbol &Symbol) {
  if (Layout.getContext().getObjectFileType() != MCContext::IsELF)
    return std::nullopt; // a symbol has no size there
  int64_t Bytes = 0;
  const MCExpr *Size = static_cast<const MCSymbolELF &>(Symbol).getSize();
  return Size && Size->evaluateKnownAbsolute(Bytes, Layout) ? std::optional<uint64_t>(Bytes) : std::nullopt;
}

std::vector<uint64_t> functionBytes(const MCAssembler &Layout, ArrayRef<std::string> Names) {
  Shares All(Layout);
  for (const std::string &Name : Names)
    All.addText(Name);
  for (const MCSection &Section : Layout)
    if (Section.getName().starts_with(".rodata"))
      All.addJumpTables(Section);
  for (const MCSection &Section : Layout)
    if (Section.getName() == ".eh_frame")
      All.addFrames(Section);
  return std::move(All.Bytes);
}

} // namespace mlcb::measure
