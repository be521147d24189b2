// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/Composer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/measure/CodeReader.h"
#include "llvm/measure/Extract.h"
#include "llvm/measure/NearJumps.h"
#include "llvm/measure/ObjectLayout.h"

using namespace llvm;

namespace mlcb::measure {

/// Whether the module's object is its functions, its globals, and nothing else.
static bool isPlain(const Module &M) {
  return M.getModuleInlineAsm().empty() && M.alias_empty() && M.ifunc_empty() && M.debug_compile_units().empty() && !M.getNamedGlobal("llvm.used") &&
         !M.getNamedGlobal("llvm.global_ctors") && !M.getNamedGlobal("llvm.global_dtors") && all_of(M.globals(), SectionSums::isPlain);
}

static bool isModelled(const Triple &Target) { return Target.getArch() == Triple::x86_64 && Target.isOSBinFormatELF(); }

std::optional<Size> Composer::size(const Module &M) {
  if (!isModelled(Generator.targetMachine().getTargetTriple()) || !isPlain(M))
    return std::nullopt;
  Fingerprinter Prints(M, Target);
  SmallVector<Part, 0> All;
  for (const Function &F : M) {
    if (F.isDeclarationForLinker())
      continue;
    All.push_back({&F, Prints.print(F), {}});
    if (!All.back().Print.Isolated)
      return std::nullopt;
  }
  if (!complete(M, Prints.context(), All))
    return std::nullopt;
  return sum(M, Prints.context(), All);
}

/// Looks each function up, and generates code for all that are missing, together.
bool Composer::complete(const Module &M, Key Context, MutableArrayRef<Part> All) {
  SmallVector<Part *, 0> Unknown;
  for (Part &P : All) {
    if (auto Known = Cache.find<FunctionCode>(P.Print.Value))
      P.Code = *Known;
    else
      Unknown.push_back(&P);
  }
  Cache.count(SharedCache::FunctionHits, All.size() - Unknown.size());
  Cache.count(SharedCache::FunctionMisses, Unknown.size());
  return (Unknown.empty() || generate(M, Context, Unknown)) && all_of(All, [](const Part &P) { return P.Code.Composable; });
}

/// A function, and the contents of the constants that it can see.
static void keep(DenseSet<const GlobalValue *> &Kept, const Function *F, const FunctionPrint &Print) {
  Kept.insert(F);
  for (const GlobalValue *G : Print.References)
    if (auto *V = dyn_cast<GlobalVariable>(G); V && !V->isDeclaration() && !V->isInterposable())
      Kept.insert(V);
}

/// The code is read out of one object of all the functions; that the shares sum up to it is checked, each time.
bool Composer::generate(const Module &M, Key Context, ArrayRef<Part *> Unknown) {
  DenseSet<const GlobalValue *> Kept;
  DenseMap<const Function *, Part *> PartOf;
  for (Part *P : Unknown) {
    keep(Kept, P->F, P->Print);
    PartOf[P->F] = P;
  }
  Extract Only = extract(M, Kept, Jumps::Long);
  auto Resolve = [&](const Function &From, StringRef Target) -> std::optional<uint16_t> {
    auto Original = Only.Symbols.find(Target);
    if (Original == Only.Symbols.end())
      return std::nullopt;
    return find(PartOf[Only.Originals[&From]]->Print.References, Original->second) - PartOf[Only.Originals[&From]]->Print.References.begin();
  };
  CodeReader Reader;
  Size Actual;
  Generator.run(
      *Only.Part, [&](MachineFunction &MF) { Reader.note(MF); },
      [&](MCObjectStreamer &Streamer) {
        Reader.read(Streamer, Resolve);
        Actual = sizeOf(Streamer.getAssembler(), Generator.targetMachine().getTargetTriple());
      });

  SectionSums Sums;
  for (const CodeReader::Entry &E : Reader.functions()) {
    Sums.addTables(E.Code);
    Sums.addText(E.Code.Section, E.Code.Text);
    Sums.addFrame(E.Code.CieBytes, E.Code.FrameBytes);
  }
  Actual.Allocated -= frameworkBytes(M, Context);
  if (Reader.functions().size() != Unknown.size() || !(Sums.size() == Actual))
    return false;
  for (const CodeReader::Entry &E : Reader.functions()) {
    Part &P = *PartOf[Only.Originals[E.F]];
    P.Code = E.Code;
    Cache.insert(P.Print.Value, P.Code);
  }
  return true;
}

std::optional<Size> Composer::sum(const Module &M, Key Context, ArrayRef<Part> All) {
  SectionSums Sums;
  std::array<SmallVector<const Part *, 0>, 3> Texts;
  for (const Part &P : All) {
    Sums.addTables(P.Code);
    Texts[static_cast<size_t>(P.Code.Section)].push_back(&P);
  }
  for (Parts InSection : Texts)
    if (!addText(M, InSection, Sums))
      return std::nullopt;
  for (const GlobalVariable &G : M.globals())
    if (!Sums.addGlobal(G, Generator.targetMachine()))
      return std::nullopt;
  Size Result = Sums.size();
  Result.Allocated += frameworkBytes(M, Context);
  return Result;
}

static SmallVector<PlacedCode, 0> place(ArrayRef<const Composer::Part *> Section) {
  DenseMap<const GlobalValue *, size_t> PlaceOf;
  for (auto [Place, P] : enumerate(Section))
    PlaceOf[P->F] = Place;
  SmallVector<PlacedCode, 0> Placed;
  for (const Composer::Part *P : Section) {
    Placed.push_back({&P->Code, {}});
    for (const FarJump &Jump : ArrayRef(P->Code.FarJumps).take_front(P->Code.NumFarJumps)) {
      auto Target = PlaceOf.find(P->Print.References[Jump.Target]);
      Placed.back().Targets.push_back(Target == PlaceOf.end() ? std::nullopt : std::optional(Target->second));
    }
  }
  return Placed;
}

bool Composer::addText(const Module &M, Parts Section, SectionSums &Sums) {
  for (Run R : independentRuns(place(Section))) {
    Parts Here = Section.take_front(R.Length);
    Section = Section.drop_front(R.Length);
    const FunctionCode &First = Here.front()->Code;
    Stretch S = R.HasNearJump ? stretch(M, Here) : Stretch{First.Text, First.FrameBytes, true};
    if (!S.Composable)
      return false;
    Sums.addText(First.Section, S.Text);
    Sums.addFrame(First.CieBytes, S.FrameBytes);
  }
  return true;
}

Composer::Stretch Composer::stretch(const Module &M, Parts Run) {
  HashStream S;
  for (const Part *P : Run)
    S.add(P->Print.Value);
  Key K = relabel(S.hash(), "stretch");
  if (auto Known = Cache.find<Stretch>(K))
    return *Known;
  Stretch Result = generateStretch(M, Run);
  Cache.insert(K, Result);
  return Result;
}

Composer::Stretch Composer::generateStretch(const Module &M, Parts Run) {
  DenseSet<const GlobalValue *> Kept;
  for (const Part *P : Run)
    keep(Kept, P->F, P->Print);
  CodeReader Reader;
  Generator.run(
      *extract(M, Kept, Jumps::AsFound).Part, [&](MachineFunction &MF) { Reader.note(MF); },
      [&](MCObjectStreamer &Streamer) { Reader.read(Streamer, [](auto &&...) { return std::nullopt; }); });

  Stretch Result;
  const auto &First = Reader.functions().front(), &Last = Reader.functions().back();
  Result.Text = {static_cast<uint32_t>(Last.Start + Last.Code.Text.Bytes - First.Start), First.Code.Text.LogAlign};
  Result.Composable = Reader.functions().size() == Run.size();
  for (const CodeReader::Entry &E : Reader.functions()) {
    Result.FrameBytes += E.Code.FrameBytes;
    // Otherwise the padding between them would depend on where the first one lies.
    Result.Composable &= E.Code.Composable && E.Code.Text.LogAlign <= Result.Text.LogAlign;
  }
  return Result;
}

/// The parts of a module's object that belong to no function and no global, by its flags.
uint64_t Composer::frameworkBytes(const Module &M, Key Context) {
  Key K = relabel(Context, "framework");
  if (auto Known = Cache.find<uint64_t>(K))
    return *Known;
  uint64_t Bytes = 0;
  Generator.run(
      *extract(M, {}, Jumps::Long).Part, [](MachineFunction &) {},
      [&](MCObjectStreamer &Streamer) { Bytes = sizeOf(Streamer.getAssembler(), Generator.targetMachine().getTargetTriple()).Allocated; });
  Cache.insert(K, Bytes);
  return Bytes;
}

} // namespace mlcb::measure
