// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/Parameters.h"

#include "llvm/passes/Action.h"

using namespace llvm;

namespace mlcb {

Unexpected invalidParameter(const BoundSpec &Spec, const Twine &Why) {
  return fail(ErrorKind::InvalidArgument, (Twine(StringRef(Spec.Task.Name)) + "/" + Why).str());
}

Expected<json::Object> parametersOf(const BoundSpec &Spec) {
  llvm::Expected<json::Value> Parsed = json::parse(Spec.Parameters);
  if (!Parsed)
    return invalidParameter(Spec, "parameters: " + toString(Parsed.takeError()));
  json::Object *Root = Parsed->getAsObject();
  if (!Root)
    return invalidParameter(Spec, "parameters: expected an object");
  return std::move(*Root);
}

Expected<std::string> readPipeline(const BoundSpec &Spec, const json::Object &Parameters) {
  const StringRef Text = Parameters.getString("pipeline").value_or("");
  if (Text.empty())
    return std::string();
  Expected<Action> Parsed = parseAction(Text);
  if (!Parsed)
    return invalidParameter(Spec, "pipeline: " + Parsed.error().Message);
  if (Parsed->Stages.size() != 1 || !Parsed->Stages.front().Options.empty())
    return invalidParameter(Spec, "pipeline: '" + Text + "', expected one pipeline without options");
  return std::move(Parsed->Stages.front().Pipeline);
}

} // namespace mlcb
