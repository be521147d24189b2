// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxPolicy.h"

#include "spec/JsonAccess.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

namespace mlcb {
namespace {

constexpr int Format = 1;

Expected<Json> readManifest(const std::string &Path) {
  std::ifstream File(Path, std::ios::binary);
  if (!File)
    return failErrno(Path);
  const std::string Text{std::istreambuf_iterator<char>(File), {}};
  Json Manifest = parseJson(Text);
  if (!Manifest.is_object())
    return fail(ErrorKind::InvalidArgument, Path + " is not a JSON object");
  if (member(Manifest, "format") != Format)
    return fail(ErrorKind::InvalidArgument, Path + " is of format " + dumpJson(member(Manifest, "format")) +
                                                ", this build reads " + std::to_string(Format));
  return Manifest;
}

/// The spec of this build for the policy's task and parameters; it must be the one that the policy was trained with.
Expected<BoundSpec> bindManifest(const std::string &Path, const Json &Manifest) {
  const std::string Name = stringOf(member(Manifest, "task"));
  const TaskSpec *Task = findTask(Name);
  if (!Task)
    return fail(ErrorKind::SpecMismatch, Path + ": task '" + Name + "' is not one that this build knows");
  auto Spec = bindTask(*Task, dumpJson(member(Manifest, "parameters")));
  if (!Spec)
    return fail(ErrorKind::SpecMismatch, Path + ": " + Spec.error().Message);
  if (Spec->Digest != stringOf(member(Manifest, "digest")))
    return fail(ErrorKind::SpecMismatch,
                Path + ": " + describeMismatch(Spec->toJson(), dumpJson(member(Manifest, "spec")), "the policy"));
  return Spec;
}

Expected<OnnxModel> loadModel(const std::string &Folder, const Json &Manifest, const AgentSpec &Agent) {
  const std::string File = stringOf(member(member(Manifest, "agents"), Agent.Name));
  if (File.empty() || File.find('/') != File.npos)
    return fail(ErrorKind::InvalidArgument,
                Folder + "/policy.json names no file of the folder for agent '" + std::string(Agent.Name) + "'");
  return OnnxModel::load(Folder + "/" + File, Agent);
}

Expected<std::shared_ptr<const OnnxPolicy>> load(const std::string &Folder) {
  const std::string Path = Folder + "/policy.json";
  auto Manifest = readManifest(Path);
  if (!Manifest)
    return Unexpected(Manifest.error());
  auto Spec = bindManifest(Path, *Manifest);
  if (!Spec)
    return Unexpected(Spec.error());
  OnnxPolicy Policy{Folder, std::move(*Spec), dumpJson(member(*Manifest, "spec")), {}};
  for (const AgentSpec &Agent : Policy.Spec.Task.Agents) {
    auto Model = loadModel(Folder, *Manifest, Agent);
    if (!Model)
      return Unexpected(Model.error());
    Policy.Models.push_back(std::move(*Model));
  }
  return std::make_shared<const OnnxPolicy>(std::move(Policy));
}

} // namespace

Expected<std::shared_ptr<const OnnxPolicy>> OnnxPolicy::open(const std::string &Folder) {
  static std::mutex Guard;
  static std::map<std::string, std::weak_ptr<const OnnxPolicy>> Open;
  std::error_code Ignored;
  const std::string Key = std::filesystem::weakly_canonical(Folder, Ignored).string();
  const std::lock_guard Lock(Guard);
  if (auto Known = Open[Key].lock())
    return Known;
  auto Loaded = load(Folder);
  if (Loaded)
    Open[Key] = *Loaded;
  return Loaded;
}

} // namespace mlcb
