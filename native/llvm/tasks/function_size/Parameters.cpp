// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/Parameters.h"

#include "llvm/task/Parameters.h"

namespace mlcb {

Expected<FunctionSizeParameters> FunctionSizeParameters::read(const BoundSpec &Spec) {
  ParameterReader From(Spec);
  FunctionSizeParameters Read{From.pipeline("a pipeline"), {}, From.number("text_weight", 0), {}};
  for (const std::string &Text : From.texts("actions", "changes of attributes")) {
    Expected<AttributeChange> Change = AttributeChange::parse(Text);
    if (!Change)
      return Unexpected(Change.error());
    Read.Actions.push_back(std::move(*Change));
  }
  if (!Read.Actions.empty() && !Read.Actions.front().isKeep())
    From.reject("actions: '" + Read.Actions.front().Text + "' first, expected 'keep'");
  Expected<std::vector<OptionSetting>> Without = withoutOptimizations(From.listed("without"));
  if (!Without)
    From.reject("without: " + Without.error().Message);
  else
    Read.Without = std::move(*Without);
  return From.result(std::move(Read));
}

} // namespace mlcb
