// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file of vectors by section and key, in the JSON format of LLVM's IR2Vec.
#pragma once

#include "spec/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mlcb {

/// What a task is bound with: the length of the vectors, and hexDigest() of the file.
struct VocabularyIdentity {
  unsigned Dimension = 0;
  std::string Digest;

  /// A SpecMismatch where a task is bound with another one. An empty digest is any.
  Expected<void> expect(int64_t BoundDimension, llvm::StringRef BoundDigest) const;
};

struct VocabularyFile {
  using Section = llvm::StringMap<std::vector<double>>;

  VocabularyIdentity Identity;
  llvm::StringMap<Section> Sections;

  /// A section that is missing, and a vector of another length than the others, is an error.
  static Expected<VocabularyFile> read(llvm::StringRef Path, llvm::ArrayRef<llvm::StringRef> Sections);
};

/// Where a vocabulary is: what an environment variable says, else an option, else a file beside this code that ships.
std::string vocabularyPath(const char *Variable, llvm::StringRef Option, llvm::StringRef Shipped);

/// The vocabulary of its kind that this process has, read at the first call.
template <class V> Expected<const V *> readOnce(llvm::StringRef Path) {
  static std::mutex Reading; // a thin link has several threads
  static std::optional<V> Loaded;
  const std::scoped_lock Lock(Reading);
  if (!Loaded) {
    Expected<V> Read = V::read(Path);
    if (!Read)
      return Unexpected(Read.error());
    Loaded = std::move(*Read);
  }
  return &*Loaded;
}

} // namespace mlcb
