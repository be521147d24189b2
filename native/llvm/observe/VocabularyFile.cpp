// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/observe/VocabularyFile.h"

#include "spec/Digest.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <tuple>
#include <utility>

using namespace llvm;

namespace mlcb {

static Unexpected invalid(const Twine &Why) { return fail(ErrorKind::InvalidArgument, Why.str()); }
static Unexpected mismatch(const Twine &Why) { return fail(ErrorKind::SpecMismatch, Why.str()); }

namespace {

/// Reads `{"Section": {"Key": [numbers], ...}, ...}`, and no other JSON: a compile waits for it, and a general parser takes milliseconds.
class Reader {
public:
  explicit Reader(StringRef Text) : Text(Text) {}

  Expected<StringMap<VocabularyFile::Section>> sections() {
    StringMap<VocabularyFile::Section> Sections;
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

  bool entry(VocabularyFile::Section &Into) {
    StringRef Key;
    if (!key(Key))
      return false;
    std::vector<double> &Vector = Into[Key];
    return list('[', ']', [&] {
      double Number = 0;
      Text = Text.ltrim();
      auto [Rest, Failed] = std::from_chars(Text.begin(), Text.end(), Number);
      Text = Text.drop_front(static_cast<size_t>(Rest - Text.begin()));
      Vector.push_back(Number);
      return Failed == std::errc();
    });
  }

  StringRef Text;
};

/// The file of this name that ships with the shared object or program at a path.
std::string beside(StringRef Path, StringRef Name) {
  SmallString<256> Found(sys::path::parent_path(Path));
  sys::path::append(Found, "..", "data", Name);
  sys::path::remove_dots(Found, /*remove_dot_dot=*/true);
  return std::string(Found);
}

/// That of the one that this code is part of, which may be installed as a link.
std::string shippedPath(StringRef Name) {
  Dl_info Info;
  if (!dladdr(reinterpret_cast<void *>(&shippedPath), &Info) || !Info.dli_fname)
    return beside("", Name);
  SmallString<256> Real;
  if (std::string Linked = beside(Info.dli_fname, Name); sys::fs::exists(Linked) || sys::fs::real_path(Info.dli_fname, Real))
    return Linked;
  return beside(Real, Name);
}

} // namespace

Expected<void> VocabularyIdentity::expect(int64_t BoundDimension, StringRef BoundDigest) const {
  if (std::cmp_not_equal(BoundDimension, Dimension))
    return mismatch("dimension: " + Twine(BoundDimension) + ", the compiler's vocabulary has " + Twine(Dimension));
  if (!BoundDigest.empty() && BoundDigest != Digest)
    return mismatch("vocabulary: expected " + BoundDigest + ", the compiler has " + Digest);
  return {};
}

/// The length of all vectors; that of any vector of the first section is expected of the others.
static Expected<unsigned> dimensionOf(const StringMap<VocabularyFile::Section> &Found, ArrayRef<StringRef> Sections) {
  for (const StringRef Section : Sections)
    if (!Found.contains(Section))
      return invalid("no section '" + Section + "'");
  const VocabularyFile::Section &First = Found.find(Sections.front())->second;
  const size_t Dimension = First.empty() ? 0 : First.begin()->second.size();
  if (Dimension == 0)
    return invalid("no vectors in section '" + Sections.front() + "'");
  for (const auto &Section : Found)
    for (const auto &[Key, Vector] : Section.second)
      if (Vector.size() != Dimension)
        return invalid("'" + Key + "' has " + Twine(Vector.size()) + " elements, expected " + Twine(Dimension));
  return static_cast<unsigned>(Dimension);
}

Expected<VocabularyFile> VocabularyFile::read(StringRef Path, ArrayRef<StringRef> Sections) {
  const auto Fail = [Path](const Twine &Why) { return invalid("vocabulary '" + Path + "': " + Why); };
  auto File = MemoryBuffer::getFile(Path);
  if (!File)
    return Fail(File.getError().message());
  auto Found = Reader((*File)->getBuffer()).sections();
  if (!Found)
    return Fail(Found.error().Message);
  const Expected<unsigned> Dimension = dimensionOf(*Found, Sections);
  if (!Dimension)
    return Fail(Dimension.error().Message);
  return VocabularyFile{{*Dimension, hexDigest((*File)->getBuffer())}, std::move(*Found)};
}

std::string vocabularyPath(const char *Variable, StringRef Option, StringRef Shipped) {
  if (const char *Path = std::getenv(Variable))
    return Path;
  return Option.empty() ? shippedPath(Shipped) : Option.str();
}

} // namespace mlcb
