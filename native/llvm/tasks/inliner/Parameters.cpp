// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/inliner/Parameters.h"

#include "llvm/task/Parameters.h"

using namespace llvm;

namespace mlcb {

namespace {

Expected<std::optional<EmbeddingChoice>> readEmbedding(const BoundSpec &Spec, const json::Object &Root) {
  StringRef Word = Root.getString("embedding").value_or("");
  int64_t Dimension = Root.getInteger("dimension").value_or(0);
  if (Word == "none") {
    if (Dimension != 0)
      return invalidParameter(Spec, "dimension: " + Twine(Dimension) + ", expected 0 without an embedding");
    return std::nullopt;
  }
  if (Word != "symbolic" && Word != "flow-aware")
    return invalidParameter(Spec, "embedding: '" + Word + "', expected 'none', 'symbolic' or 'flow-aware'");
  Expected<const Vocabulary *> Seeds = readVocabulary(Spec, Root);
  if (!Seeds)
    return Unexpected(Seeds.error());
  return EmbeddingChoice{Word == "symbolic" ? EmbeddingKind::Symbolic : EmbeddingKind::FlowAware, **Seeds};
}

} // namespace

Expected<InlinerParameters> InlinerParameters::read(const BoundSpec &Spec) {
  Expected<json::Object> Root = parametersOf(Spec);
  if (!Root)
    return Unexpected(Root.error());
  Expected<std::string> Pipeline = readPipeline(Spec, *Root);
  if (!Pipeline)
    return Unexpected(Pipeline.error());
  if (Pipeline->empty())
    return invalidParameter(Spec, "pipeline: expected a pipeline");
  double Growth = Root->getNumber("growth").value_or(0);
  if (!(Growth >= 1))
    return invalidParameter(Spec, "growth: expected at least 1");
  Expected<std::optional<EmbeddingChoice>> Embedding = readEmbedding(Spec, *Root);
  if (!Embedding)
    return Unexpected(Embedding.error());
  int64_t Context = Root->getInteger("context").value_or(-1);
  if (Context != 0 && Context != 1)
    return invalidParameter(Spec, "context: expected 0 or 1");
  return InlinerParameters{std::move(*Pipeline), Growth, *Embedding, Context == 1};
}

} // namespace mlcb
