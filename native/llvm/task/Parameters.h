// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parameters of a bound spec as C++ values.
#pragma once

#include "spec/TaskSpec.h"
#include "llvm/observe/Vocabulary.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace mlcb {

/// The error of a parameter, as `posetrl/max_steps: expected at least 1`.
Unexpected invalidParameter(const BoundSpec &Spec, const llvm::Twine &Why);

/// Reads parameters by name and keeps the first error. After an error the values mean nothing; result() gives the error then.
class ParameterReader {
public:
  explicit ParameterReader(const BoundSpec &Spec);

  /// The parameter `pipeline`: one pipeline without options around it, made safe as those of actions are. Whether LLVM has its passes is not
  /// looked at. An empty one is an error if Expected names what it should be.
  std::string pipeline(llvm::StringRef Expected = "");

  bool boolean(llvm::StringRef Name);

  /// A boolean that is declared as 0 or 1, because it is also a dimension.
  bool zeroOrOne(llvm::StringRef Name);

  int64_t integer(llvm::StringRef Name, int64_t Least = 0);
  double number(llvm::StringRef Name, int64_t Least);
  std::string text(llvm::StringRef Name);

  /// A list of texts.
  std::vector<std::string> listed(llvm::StringRef Name);

  /// A list of texts that is not empty. Items names its elements in the error.
  std::vector<std::string> texts(llvm::StringRef Name, llvm::StringRef Items);

  /// The index of the word that the parameter is.
  size_t oneOf(llvm::StringRef Name, llvm::ArrayRef<llvm::StringRef> Words);

  /// The vocabulary of this process, if it is the one that `dimension` and `vocabulary` name; null after an error.
  template <class VocabularyT = Vocabulary> const VocabularyT *vocabulary() {
    if (FirstError)
      return nullptr;
    const Expected<const VocabularyT *> Seeds = VocabularyT::shared();
    expectIdentity(Seeds.map([](const VocabularyT *Of) { return &Of->identity(); }));
    return FirstError ? nullptr : *Seeds;
  }

  /// An error of the task's own, as `max_steps: expected at least 1`.
  void reject(const llvm::Twine &Why);

  template <class T> Expected<T> result(T Read) const { return FirstError ? Expected<T>(Unexpected(*FirstError)) : Expected<T>(std::move(Read)); }

private:
  void expectIdentity(const Expected<const VocabularyIdentity *> &OfProcess);

  const BoundSpec &Spec;
  llvm::json::Object Values;
  std::optional<Error> FirstError;
};

} // namespace mlcb
