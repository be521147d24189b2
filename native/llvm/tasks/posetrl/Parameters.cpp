// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/posetrl/Parameters.h"

#include "llvm/task/Parameters.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The value that belongs to a word; an unknown word is an error that lists nothing but the two there are.
template <class T>
Expected<T> oneOf(const BoundSpec &Spec, const json::Object &Root, StringRef Name, std::pair<StringRef, T> A, std::pair<StringRef, T> B) {
  StringRef Word = Root.getString(Name).value_or("");
  if (Word == A.first)
    return A.second;
  if (Word == B.first)
    return B.second;
  return invalidParameter(Spec, Name + ": '" + Word + "', expected '" + A.first + "' or '" + B.first + "'");
}

Expected<std::vector<std::string>> readActions(const BoundSpec &Spec, const json::Object &Root) {
  const json::Array *Texts = Root.getArray("actions");
  if (!Texts || Texts->empty())
    return invalidParameter(Spec, "actions: expected a list of pipeline texts");
  std::vector<std::string> Actions;
  for (const json::Value &Text : *Texts) {
    if (!Text.getAsString())
      return invalidParameter(Spec, "actions: something that is no text");
    Actions.push_back(Text.getAsString()->str());
  }
  return Actions;
}

} // namespace

Expected<void> PosetRLParameters::check(const Vocabulary &Seeds) const {
  if (auto Same = Seeds.expect(Dimension, VocabularyDigest); !Same)
    return fail(ErrorKind::SpecMismatch, "posetrl/" + Same.error().Message);
  return {};
}

Expected<PosetRLParameters> PosetRLParameters::read(const BoundSpec &Spec) {
  Expected<json::Object> Root = parametersOf(Spec);
  if (!Root)
    return Unexpected(Root.error());

  Expected<std::vector<std::string>> Actions = readActions(Spec, *Root);
  if (!Actions)
    return Unexpected(Actions.error());
  auto FromOz = oneOf<bool>(Spec, *Root, "start", {"unoptimized", false}, {"Oz", true});
  if (!FromOz)
    return Unexpected(FromOz.error());
  auto Kind = oneOf<EmbeddingKind>(Spec, *Root, "observation", {"flow-aware", EmbeddingKind::FlowAware},
                                   {"symbolic", EmbeddingKind::Symbolic});
  if (!Kind)
    return Unexpected(Kind.error());
  int64_t MaxSteps = Root->getInteger("max_steps").value_or(0);
  if (MaxSteps < 1)
    return invalidParameter(Spec, "max_steps: expected at least 1");
  return PosetRLParameters{std::move(*Actions),
                           *FromOz,
                           MaxSteps,
                           Root->getBoolean("unique").value_or(false),
                           *Kind,
                           Root->getInteger("dimension").value_or(0),
                           Root->getString("vocabulary").value_or("").str()};
}

} // namespace mlcb
