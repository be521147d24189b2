// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Parameters.h"

#include "llvm/task/Parameters.h"

using namespace llvm;

namespace mlcb {

static std::optional<EmbeddingChoice> readEmbedding(ParameterReader &From) {
  const size_t Kind = From.oneOf("embedding", {"none", "symbolic", "flow-aware"});
  if (Kind == 0) {
    if (const int64_t Dimension = From.integer("dimension"))
      From.reject("dimension: " + Twine(Dimension) + ", expected 0 without an embedding");
    return std::nullopt;
  }
  const Vocabulary *Seeds = From.vocabulary();
  return Seeds ? std::optional(EmbeddingChoice{Kind == 1 ? EmbeddingKind::Symbolic : EmbeddingKind::FlowAware, *Seeds}) : std::nullopt;
}

Expected<InlinerParameters> InlinerParameters::read(const BoundSpec &Spec) {
  ParameterReader From(Spec);
  return From.result(InlinerParameters{From.pipeline("a pipeline"), From.number("growth", 1), readEmbedding(From), From.zeroOrOne("context")});
}

} // namespace mlcb
