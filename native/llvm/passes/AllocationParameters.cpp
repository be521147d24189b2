// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/AllocationParameters.h"

#include "llvm/passes/Action.h"

#include "llvm/Support/JSON.h"

using namespace llvm;

namespace mlcb {

Expected<AllocationParameters> AllocationParameters::read(const BoundSpec &Spec) {
  auto invalid = [&](const Twine &Why) { return fail(ErrorKind::InvalidArgument, (Twine(StringRef(Spec.Task.Name)) + "/" + Why).str()); };
  llvm::Expected<json::Value> Parsed = json::parse(Spec.Parameters);
  if (!Parsed)
    return invalid("parameters: " + toString(Parsed.takeError()));
  const json::Object *Root = Parsed->getAsObject();
  if (!Root)
    return invalid("parameters: expected an object");
  const auto Told = Root->getInteger("told");
  if (!Told || *Told < 0 || *Told > 1)
    return invalid("told: expected 0 or 1");
  const auto KeepsOptSize = Root->getBoolean("optsize");
  if (!KeepsOptSize)
    return invalid("optsize: expected true or false");
  const StringRef Text = Root->getString("pipeline").value_or("");
  if (Text.empty())
    return AllocationParameters{"", *KeepsOptSize};
  Expected<Action> Pipeline = parseAction(Text);
  if (!Pipeline)
    return invalid("pipeline: " + Pipeline.error().Message);
  if (Pipeline->Stages.size() != 1 || !Pipeline->Stages.front().Options.empty())
    return invalid("pipeline: '" + Text + "', expected one pipeline without options");
  return AllocationParameters{Pipeline->Stages.front().Pipeline, *KeepsOptSize};
}

} // namespace mlcb
