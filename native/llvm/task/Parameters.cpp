// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/Parameters.h"

#include "llvm/pipeline/Action.h"

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

Expected<bool> readKeepsOptSize(const BoundSpec &Spec, const json::Object &Parameters) {
  const std::optional<bool> Keeps = Parameters.getBoolean("optsize");
  return Keeps ? Expected<bool>(*Keeps) : invalidParameter(Spec, "optsize: expected true or false");
}

Expected<const Vocabulary *> readVocabulary(const BoundSpec &Spec, const json::Object &Parameters) {
  Expected<const Vocabulary *> Seeds = Vocabulary::shared();
  if (!Seeds)
    return Seeds;
  const int64_t Dimension = Parameters.getInteger("dimension").value_or(0);
  if (auto Same = (*Seeds)->expect(Dimension, Parameters.getString("vocabulary").value_or("")); !Same)
    return fail(ErrorKind::SpecMismatch, std::string(Spec.Task.Name) + "/" + Same.error().Message);
  return Seeds;
}

} // namespace mlcb
