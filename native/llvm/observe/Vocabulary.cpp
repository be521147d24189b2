// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/observe/Vocabulary.h"

#include "spec/Digest.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <dlfcn.h>
#include <optional>

using namespace llvm;

namespace mlcb {

static cl::opt<std::string> VocabularyPath("mlcb-vocabulary", cl::desc("IR2Vec vocabulary (JSON) of the observations"),
                                           cl::value_desc("file"));

namespace {

struct Section {
  StringRef Name;
  unsigned End; // first entity of the next section
  double Weight;
};

// The weights are IR2Vec's (TACO 2020); LLVM's options of the same meaning are left alone, so that a digest says all.
constexpr unsigned NumOpcodes = ir2vec::Vocabulary::MaxOpcodes;
constexpr unsigned NumTypes = ir2vec::Vocabulary::MaxCanonicalTypeIDs;
const Section Sections[] = {
    {"Opcodes", NumOpcodes, 1.0}, {"Types", NumOpcodes + NumTypes, 0.5}, {"Arguments", NumEntities, 0.2}};

/// The vocabulary that ships with the shared object or program at a path.
std::string beside(StringRef Path) {
  SmallString<256> Found(sys::path::parent_path(Path));
  sys::path::append(Found, "..", "data", "ir2vec-300d.json");
  sys::path::remove_dots(Found, /*remove_dot_dot=*/true);
  return std::string(Found);
}

/// Of the one that this code is part of, which may be installed as a link.
std::string shippedPath() {
  Dl_info Info;
  if (!dladdr(reinterpret_cast<void *>(&shippedPath), &Info) || !Info.dli_fname)
    return beside("");
  SmallString<256> Real;
  if (std::string Linked = beside(Info.dli_fname); sys::fs::exists(Linked) || sys::fs::real_path(Info.dli_fname, Real))
    return Linked;
  return beside(Real);
}

std::string defaultPath() {
  if (const char *Path = std::getenv("MLCB_VOCABULARY"))
    return Path;
  if (!VocabularyPath.empty())
    return VocabularyPath;
  return shippedPath();
}

/// The dimension is that of the first vector found.
unsigned dimensionOf(const json::Object &Root) {
  if (const json::Object *Opcodes = Root.getObject("Opcodes"))
    for (const auto &[Key, Value] : *Opcodes)
      if (const json::Array *Vector = Value.getAsArray())
        return Vector->size();
  return 0;
}

Unexpected invalid(const Twine &Why) { return fail(ErrorKind::InvalidArgument, Why.str()); }
Unexpected mismatch(const Twine &Why) { return fail(ErrorKind::SpecMismatch, Why.str()); }

Expected<void> readSeed(const json::Object &Entries, StringRef Key, double Weight, MutableArrayRef<float> Seed) {
  const json::Array *Vector = Entries.getArray(Key);
  if (!Vector)
    return {};
  if (Vector->size() != Seed.size())
    return invalid("'" + Key + "' has " + Twine(Vector->size()) + " elements, expected " + Twine(Seed.size()));
  for (auto [Out, Element] : zip(Seed, *Vector)) {
    std::optional<double> Number = Element.getAsNumber();
    if (!Number)
      return invalid("'" + Key + "' holds something that is no number");
    Out = static_cast<float>(*Number * Weight);
  }
  return {};
}

Expected<void> readSeeds(const json::Object &Root, unsigned Dimension, MutableArrayRef<float> Seeds) {
  Entity E = 0;
  for (const Section &S : Sections) {
    const json::Object *Entries = Root.getObject(S.Name);
    if (!Entries)
      return invalid("no section '" + S.Name + "'");
    for (; E < S.End; ++E)
      if (auto Read = readSeed(*Entries, ir2vec::Vocabulary::getStringKey(E), S.Weight,
                               Seeds.slice(size_t{E} * Dimension, Dimension));
          !Read)
        return Read;
  }
  return {};
}

} // namespace

Expected<Vocabulary> Vocabulary::read(StringRef Path) {
  auto Fail = [Path](const Twine &Why) { return invalid("vocabulary '" + Path + "': " + Why); };
  auto File = MemoryBuffer::getFile(Path);
  if (!File)
    return Fail(File.getError().message());
  llvm::Expected<json::Value> Root = json::parse((*File)->getBuffer());
  if (!Root)
    return Fail(toString(Root.takeError()));
  const json::Object *Object = Root->getAsObject();
  unsigned Dimension = Object ? dimensionOf(*Object) : 0;
  if (Dimension == 0)
    return Fail("no vectors in section 'Opcodes'");

  Vocabulary V;
  V.Dimension = Dimension;
  V.Digest = hexDigest((*File)->getBuffer());
  V.Seeds.resize(size_t{NumEntities} * Dimension);
  if (auto Read = readSeeds(*Object, Dimension, V.Seeds); !Read)
    return Fail(Read.error().Message);
  return V;
}

Expected<void> Vocabulary::expect(int64_t Expected, StringRef Bound) const {
  if (Expected != Dimension)
    return mismatch("dimension: " + Twine(Expected) + ", the compiler's vocabulary has " + Twine(Dimension));
  if (!Bound.empty() && Bound != Digest)
    return mismatch("vocabulary: expected " + Bound + ", the compiler has " + Digest);
  return {};
}

Expected<const Vocabulary *> Vocabulary::shared() {
  static std::optional<Vocabulary> Loaded;
  if (!Loaded) {
    Expected<Vocabulary> V = read(defaultPath());
    if (!V)
      return Unexpected(V.error());
    Loaded = std::move(*V);
  }
  return &*Loaded;
}

} // namespace mlcb
