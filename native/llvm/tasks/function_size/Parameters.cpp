// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/Parameters.h"

#include "llvm/task/Parameters.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mlcb {

Expected<FunctionSizeParameters> FunctionSizeParameters::read(const BoundSpec &Spec) {
  ParameterReader From(Spec);
  FunctionSizeParameters Read{From.pipeline("a pipeline"), {}, From.number("text_weight", 0), {}};
  for (const std::string &Text : From.texts("actions", "changes of attributes, or pipelines")) {
    Expected<FunctionAction> Action = FunctionAction::parse(Text);
    if (!Action)
      return Unexpected(Action.error());
    Read.Actions.push_back(std::move(*Action));
  }
  if (!Read.Actions.empty() && !Read.Actions.front().Attributes.isKeep())
    From.reject("actions: '" + Read.Actions.front().Text + "' first, expected 'keep', or passes alone");
  if (const auto Found = find_if(Read.Actions, [](const FunctionAction &Each) { return Each.Attributes.EndsTailCalls; });
      Found != Read.Actions.end() && havePasses(Read.Actions))
    From.reject("actions: '" + Found->Text +
                "' beside passes, which may make tail calls that the stack relies on: expected none of disable-tail-calls");
  Expected<std::vector<OptionSetting>> Without = withoutOptimizations(From.listed("without"));
  if (!Without)
    From.reject("without: " + Without.error().Message);
  else
    Read.Without = std::move(*Without);
  return From.result(std::move(Read));
}

} // namespace mlcb
