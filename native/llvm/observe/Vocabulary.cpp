// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/observe/Vocabulary.h"

#include "spec/Digest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

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

Unexpected invalid(const Twine &Why) { return fail(ErrorKind::InvalidArgument, Why.str()); }
Unexpected mismatch(const Twine &Why) { return fail(ErrorKind::SpecMismatch, Why.str()); }

using Vectors = StringMap<std::vector<double>>;

/// Reads `{"Section": {"Key": [numbers], ...}, ...}`, and no other JSON: a compile waits for it, and a general parser takes milliseconds.
class Reader {
public:
  explicit Reader(StringRef Text) : Text(Text) {}

  Expected<StringMap<Vectors>> sections() {
    StringMap<Vectors> Sections;
    const bool Whole = list('{', '}', [&] {
      StringRef Section;
      return key(Section) && list('{', '}', [&] { return entry(Sections[Section]); });
    });
    if (Whole && Text.ltrim().empty())
      return Sections;
    return invalid(R"(not of the form {"Section": {"Key": [numbers]}} at ')" + Text.ltrim().take_front(20) + "'");
  }

private:
  bool take(char Wanted) {
    Text = Text.ltrim();
    return Text.consume_front(StringRef(&Wanted, 1));
  }

  /// The items between two brackets, separated by commas.
  bool list(char Begin, char End, function_ref<bool()> Item) {
    if (!take(Begin))
      return false;
    if (take(End))
      return true;
    do
      if (!Item())
        return false;
    while (take(','));
    return take(End);
  }

  bool key(StringRef &Key) {
    if (!take('"') || !Text.contains('"'))
      return false;
    std::tie(Key, Text) = Text.split('"');
    return take(':');
  }

  bool entry(Vectors &Into) {
    StringRef Key;
    if (!key(Key))
      return false;
    std::vector<double> &Vector = Into[Key];
    return list('[', ']', [&] {
      double Number;
      Text = Text.ltrim();
      auto [Rest, Failed] = std::from_chars(Text.begin(), Text.end(), Number);
      Text = Text.drop_front(static_cast<size_t>(Rest - Text.begin()));
      Vector.push_back(Number);
      return Failed == std::errc();
    });
  }

  StringRef Text;
};

/// The dimension is that of any vector; all have it.
unsigned dimensionOf(const StringMap<Vectors> &Sections) {
  auto Opcodes = Sections.find("Opcodes");
  return Opcodes == Sections.end() || Opcodes->second.empty() ? 0 : Opcodes->second.begin()->second.size();
}

Expected<void> readSeed(const Vectors &Entries, StringRef Key, double Weight, MutableArrayRef<float> Seed) {
  auto Vector = Entries.find(Key);
  if (Vector == Entries.end())
    return {};
  if (Vector->second.size() != Seed.size())
    return invalid("'" + Key + "' has " + Twine(Vector->second.size()) + " elements, expected " + Twine(Seed.size()));
  for (auto [Out, Element] : zip(Seed, Vector->second))
    Out = static_cast<float>(Element * Weight);
  return {};
}

Expected<void> readSeeds(const StringMap<Vectors> &Root, unsigned Dimension, MutableArrayRef<float> Seeds) {
  Entity E = 0;
  for (const Section &S : Sections) {
    auto Entries = Root.find(S.Name);
    if (Entries == Root.end())
      return invalid("no section '" + S.Name + "'");
    for (; E < S.End; ++E)
      if (auto Read = readSeed(Entries->second, ir2vec::Vocabulary::getStringKey(E), S.Weight, Seeds.slice(size_t{E} * Dimension, Dimension)); !Read)
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
  auto Root = Reader((*File)->getBuffer()).sections();
  if (!Root)
    return Fail(Root.error().Message);
  unsigned Dimension = dimensionOf(*Root);
  if (Dimension == 0)
    return Fail("no vectors in section 'Opcodes'");

  Vocabulary V;
  V.Dimension = Dimension;
  V.Digest = hexDigest((*File)->getBuffer());
  V.Seeds.resize(size_t{NumEntities} * Dimension);
  if (auto Read = readSeeds(*Root, Dimension, V.Seeds); !Read)
    return Fail(Read.error().Message);
  return V;
}

Expected<void> Vocabulary::expect(int64_t Expected, StringRef Bound) const {
  if (std::cmp_not_equal(Expected, Dimension))
    return mismatch("dimension: " + Twine(Expected) + ", the compiler's vocabulary has " + Twine(Dimension));
  if (!Bound.empty() && Bound != Digest)
    return mismatch("vocabulary: expected " + Bound + ", the compiler has " + Digest);
  return {};
}

Expected<const Vocabulary *> Vocabulary::shared() {
  static std::mutex Reading; // a thin link has several threads
  static std::optional<Vocabulary> Loaded;
  const std::scoped_lock Lock(Reading);
  if (!Loaded) {
    Expected<Vocabulary> V = read(defaultPath());
    if (!V)
      return Unexpected(V.error());
    Loaded = std::move(*V);
  }
  return &*Loaded;
}

} // namespace mlcb
