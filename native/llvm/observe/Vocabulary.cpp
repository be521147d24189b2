// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/observe/Vocabulary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

static cl::opt<std::string> VocabularyPath("mlcb-vocabulary", cl::desc("IR2Vec vocabulary (JSON) of the observations"), cl::value_desc("file"));

namespace {

struct Section {
  StringRef Name;
  unsigned End; // first entity of the next section
  double Weight;
};

// The weights are IR2Vec's (TACO 2020); LLVM's options of the same meaning are left alone, so that a digest says all.
constexpr unsigned NumOpcodes = ir2vec::Vocabulary::MaxOpcodes;
constexpr unsigned NumTypes = ir2vec::Vocabulary::MaxCanonicalTypeIDs;
const Section Sections[] = {{"Opcodes", NumOpcodes, 1.0}, {"Types", NumOpcodes + NumTypes, 0.5}, {"Arguments", NumEntities, 0.2}};

void readSeed(const VocabularyFile::Section &Entries, StringRef Key, double Weight, MutableArrayRef<float> Seed) {
  if (auto Vector = Entries.find(Key); Vector != Entries.end())
    for (auto [Out, Element] : zip(Seed, Vector->second))
      Out = static_cast<float>(Element * Weight);
}

} // namespace

Expected<Vocabulary> Vocabulary::read(StringRef Path) {
  return VocabularyFile::read(Path, map_to_vector(Sections, [](const Section &S) { return S.Name; })).map([](VocabularyFile Read) {
    Vocabulary V;
    V.Identity = std::move(Read.Identity);
    V.Seeds.resize(size_t{NumEntities} * V.dimension());
    Entity E = 0;
    for (const Section &S : Sections)
      for (; E < S.End; ++E)
        readSeed(Read.Sections[S.Name], ir2vec::Vocabulary::getStringKey(E), S.Weight,
                 MutableArrayRef(V.Seeds).slice(size_t{E} * V.dimension(), V.dimension()));
    return V;
  });
}

Expected<const Vocabulary *> Vocabulary::shared() {
  return readOnce<Vocabulary>(vocabularyPath("MLCB_VOCABULARY", VocabularyPath, "ir2vec-300d.json"));
}

} // namespace mlcb
