// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/InlinerParameters.h"

#include "llvm/passes/Action.h"

#include "llvm/Support/JSON.h"

using namespace llvm;

namespace mlcb {

namespace {

Unexpected invalid(const Twine &Why) { return fail(ErrorKind::InvalidArgument, ("inliner/" + Why).str()); }
Unexpected mismatch(const Twine &Why) { return fail(ErrorKind::SpecMismatch, ("inliner/" + Why).str()); }

/// One pipeline without options around it, made safe as those of actions are.
Expected<std::string> readPipeline(StringRef Text) {
  Expected<Action> Parsed = parseAction(Text);
  if (!Parsed)
    return invalid("pipeline: " + Parsed.error().Message);
  if (Parsed->Stages.size() != 1 || !Parsed->Stages.front().Options.empty())
    return invalid("pipeline: '" + Text + "', expected one pipeline without options");
  return Parsed->Stages.front().Pipeline;
}

Expected<std::optional<EmbeddingChoice>> readEmbedding(const json::Object &Root) {
  StringRef Word = Root.getString("embedding").value_or("");
  int64_t Dimension = Root.getInteger("dimension").value_or(0);
  if (Word == "none") {
    if (Dimension != 0)
      return invalid("dimension: " + Twine(Dimension) + ", expected 0 without an embedding");
    return std::nullopt;
  }
  if (Word != "symbolic" && Word != "flow-aware")
    return invalid("embedding: '" + Word + "', expected 'none', 'symbolic' or 'flow-aware'");
  Expected<const Vocabulary *> Seeds = Vocabulary::shared();
  if (!Seeds)
    return Unexpected(Seeds.error());
  if (auto Same = (*Seeds)->expect(Dimension, Root.getString("vocabulary").value_or("")); !Same)
    return mismatch(Same.error().Message);
  return EmbeddingChoice{Word == "symbolic" ? EmbeddingKind::Symbolic : EmbeddingKind::FlowAware, **Seeds};
}

} // namespace

Expected<InlinerParameters> InlinerParameters::read(const BoundSpec &Spec) {
  llvm::Expected<json::Value> Parsed = json::parse(Spec.Parameters);
  if (!Parsed)
    return invalid("parameters: " + toString(Parsed.takeError()));
  const json::Object *Root = Parsed->getAsObject();
  if (!Root)
    return invalid("parameters: expected an object");
  Expected<std::string> Pipeline = readPipeline(Root->getString("pipeline").value_or(""));
  if (!Pipeline)
    return Unexpected(Pipeline.error());
  double Growth = Root->getNumber("growth").value_or(0);
  if (!(Growth >= 1))
    return invalid("growth: expected at least 1");
  Expected<std::optional<EmbeddingChoice>> Embedding = readEmbedding(*Root);
  if (!Embedding)
    return Unexpected(Embedding.error());
  int64_t Context = Root->getInteger("context").value_or(-1);
  if (Context != 0 && Context != 1)
    return invalid("context: expected 0 or 1");
  return InlinerParameters{std::move(*Pipeline), Growth, *Embedding, Context == 1};
}

} // namespace mlcb
