// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Parameters.h"

#include "llvm/task/Parameters.h"

using namespace llvm;

namespace mlcb {

Expected<RegallocParameters> RegallocParameters::read(const BoundSpec &Spec) {
  Expected<json::Object> Root = parametersOf(Spec);
  if (!Root)
    return Unexpected(Root.error());
  const auto Told = Root->getInteger("told");
  if (!Told || *Told < 0 || *Told > 1)
    return invalidParameter(Spec, "told: expected 0 or 1");
  Expected<bool> KeepsOptSize = readKeepsOptSize(Spec, *Root);
  if (!KeepsOptSize)
    return Unexpected(KeepsOptSize.error());
  return readPipeline(Spec, *Root).map([&](std::string Pipeline) { return RegallocParameters{std::move(Pipeline), *KeepsOptSize}; });
}

} // namespace mlcb
