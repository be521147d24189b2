// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/posetrl/Parameters.h"

#include "llvm/task/Parameters.h"

namespace mlcb {

Expected<void> PosetRLParameters::check(const Vocabulary &Seeds) const {
  if (auto Same = Seeds.identity().expect(Dimension, VocabularyDigest); !Same)
    return fail(ErrorKind::SpecMismatch, "posetrl/" + Same.error().Message);
  return {};
}

Expected<PosetRLParameters> PosetRLParameters::read(const BoundSpec &Spec) {
  ParameterReader From(Spec);
  PosetRLParameters Read{
      .Actions = {},
      .StartFromOz = From.oneOf("start", {"unoptimized", "Oz"}) == 1,
      .MaxSteps = From.integer("max_steps", 1),
      .Unique = From.boolean("unique"),
      .Observation = From.oneOf("observation", {"flow-aware", "symbolic"}) == 0 ? EmbeddingKind::FlowAware : EmbeddingKind::Symbolic,
      .Dimension = From.integer("dimension"),
      .VocabularyDigest = From.text("vocabulary"),
  };
  for (const std::string &Text : From.texts("actions", "pipeline texts")) {
    Expected<Action> Parsed = parseAction(Text);
    if (!Parsed)
      return Unexpected(Parsed.error());
    Read.Actions.push_back(std::move(*Parsed));
  }
  return From.result(std::move(Read));
}

} // namespace mlcb
