// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/LoopDistributionParameters.h"

#include "llvm/passes/Parameters.h"

using namespace llvm;

namespace mlcb {

static Expected<const Vocabulary *> readVocabulary(const json::Object &Root) {
  const int64_t Dimension = Root.getInteger("dimension").value_or(0);
  if (Dimension == 0)
    return nullptr;
  Expected<const Vocabulary *> Seeds = Vocabulary::shared();
  if (!Seeds)
    return Seeds;
  if (auto Same = (*Seeds)->expect(Dimension, Root.getString("vocabulary").value_or("")); !Same)
    return fail(ErrorKind::SpecMismatch, "loop_distribution/" + Same.error().Message);
  return Seeds;
}

Expected<LoopDistributionParameters> LoopDistributionParameters::read(const BoundSpec &Spec) {
  Expected<json::Object> Root = parametersOf(Spec);
  if (!Root)
    return Unexpected(Root.error());
  Expected<std::string> Pipeline = readPipeline(Spec, *Root);
  if (!Pipeline)
    return Unexpected(Pipeline.error());
  if (Pipeline->empty())
    return invalidParameter(Spec, "pipeline: expected one that vectorizes");
  const auto KeepsOptSize = Root->getBoolean("optsize");
  if (!KeepsOptSize)
    return invalidParameter(Spec, "optsize: expected true or false");
  return readVocabulary(*Root).map(
      [&](const Vocabulary *Seeds) { return LoopDistributionParameters{std::move(*Pipeline), *KeepsOptSize, Seeds}; });
}

} // namespace mlcb
