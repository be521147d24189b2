// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/loop_distribution/Parameters.h"

#include "llvm/task/Parameters.h"

using namespace llvm;

namespace mlcb {

Expected<LoopDistributionParameters> LoopDistributionParameters::read(const BoundSpec &Spec) {
  Expected<json::Object> Root = parametersOf(Spec);
  if (!Root)
    return Unexpected(Root.error());
  Expected<std::string> Pipeline = readPipeline(Spec, *Root);
  if (!Pipeline)
    return Unexpected(Pipeline.error());
  if (Pipeline->empty())
    return invalidParameter(Spec, "pipeline: expected one that vectorizes");
  Expected<bool> KeepsOptSize = readKeepsOptSize(Spec, *Root);
  if (!KeepsOptSize)
    return Unexpected(KeepsOptSize.error());
  const bool Embeds = Root->getInteger("dimension").value_or(0) != 0;
  Expected<const Vocabulary *> Seeds = Embeds ? readVocabulary(Spec, *Root) : nullptr;
  return Seeds.map([&](const Vocabulary *V) { return LoopDistributionParameters{std::move(*Pipeline), *KeepsOptSize, V}; });
}

} // namespace mlcb
