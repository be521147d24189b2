// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/PolicyManifest.h"

#include "spec/Json.h"

namespace mlcb {
namespace {

constexpr int Format = 1;

/// The policy's task as this build declares it, or else as the policy does.
Expected<BoundSpec> bindTaskOf(const Json &Manifest) {
  const std::string Name = stringOf(member(Manifest, "task"));
  if (const TaskSpec *Task = findTask(Name))
    return bindTask(*Task, dumpJson(member(Manifest, "parameters")));
  const Json &Declared = member(Manifest, "spec");
  if (Name.empty() || stringOf(member(Declared, "task")) != Name)
    return fail(ErrorKind::SpecMismatch, "task '" + Name + "' is not one that this build knows, nor declared in 'spec'");
  return readSpec(dumpJson(Declared));
}

Expected<BoundSpec> bindManifest(const std::string &Where, const Json &Manifest) {
  auto Spec = bindTaskOf(Manifest);
  if (!Spec)
    return fail(ErrorKind::SpecMismatch, Where + ": " + Spec.error().Message);
  if (Spec->Digest != stringOf(member(Manifest, "digest")))
    return fail(ErrorKind::SpecMismatch, Where + ": " + describeMismatch(Spec->toJson(), dumpJson(member(Manifest, "spec")), "the policy"));
  return Spec;
}

/// A file beside the policy, and nowhere else.
Expected<std::string> fileOf(const std::string &Where, const Json &Name, const std::string &For) {
  std::string File = stringOf(Name);
  if (File.empty() || File == "." || File == ".." || File.find('/') != File.npos)
    return fail(ErrorKind::InvalidArgument, Where + ": " + For + " is " + shortText(Name) + ", expected the name of a file beside it");
  return File;
}

} // namespace

Expected<PolicyManifest> PolicyManifest::parse(std::string Where, std::string_view Text) {
  const Json Manifest = parseJson(Text);
  if (!Manifest.is_object())
    return fail(ErrorKind::InvalidArgument, Where + " is not a JSON object");
  if (member(Manifest, "format") != Format)
    return fail(ErrorKind::InvalidArgument,
                Where + " is of format " + dumpJson(member(Manifest, "format")) + ", this build reads " + std::to_string(Format));
  auto Spec = bindManifest(Where, Manifest);
  if (!Spec)
    return Unexpected(Spec.error());
  PolicyManifest Result{std::move(Where), std::move(*Spec), dumpJson(member(Manifest, "spec")), {}, {}, stringOf(member(Manifest, "target"))};
  for (const AgentSpec &Agent : Result.Spec.Task.Agents) {
    auto Model = fileOf(Result.Where, member(member(Manifest, "agents"), Agent.Name), "the model of agent '" + std::string(Agent.Name) + "'");
    if (!Model)
      return Unexpected(Model.error());
    const Json &Prepacks = member(member(Manifest, "prepacking"), Agent.Name);
    Result.Models.push_back({std::move(*Model), Prepacks != false});
  }
  if (Manifest.contains("custom_operators")) {
    auto Library = fileOf(Result.Where, Manifest["custom_operators"], "'custom_operators'");
    if (!Library)
      return Unexpected(Library.error());
    Result.CustomOperators = std::move(*Library);
  }
  return Result;
}

} // namespace mlcb
