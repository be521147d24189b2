// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxPolicy.h"

#include "spec/JsonAccess.h"

#include <filesystem>
#include <fstream>
#include <functional>
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
  std::string Text; // by read(): an iterator throws where the file cannot be read, as a folder cannot
  for (char Part[4096]; File.read(Part, sizeof Part) || File.gcount() > 0;)
    Text.append(Part, static_cast<size_t>(File.gcount()));
  if (File.bad())
    return fail(ErrorKind::SystemError, Path + " cannot be read");
  Json Manifest = parseJson(Text);
  if (!Manifest.is_object())
    return fail(ErrorKind::InvalidArgument, Path + " is not a JSON object");
  if (member(Manifest, "format") != Format)
    return fail(ErrorKind::InvalidArgument, Path + " is of format " + dumpJson(member(Manifest, "format")) +
                                                ", this build reads " + std::to_string(Format));
  return Manifest;
}

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

/// The spec for the policy's task and parameters; it must be the one that the policy was trained with.
Expected<BoundSpec> bindManifest(const std::string &Path, const Json &Manifest) {
  auto Spec = bindTaskOf(Manifest);
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

Expected<std::shared_ptr<const OnnxPolicy>> loadModelAlone(const std::string &Path, const BoundSpec &Spec) {
  const auto &Agents = Spec.Task.Agents;
  if (Agents.size() != 1)
    return fail(ErrorKind::SpecMismatch, Path + " is one model, task '" + std::string(Spec.Task.Name) + "' has " +
                                             std::to_string(Agents.size()) + " agents");
  auto Model = OnnxModel::load(Path, Agents[0]);
  if (!Model)
    return Unexpected(Model.error());
  OnnxPolicy Policy{Path, Spec, Spec.toJson(), {}};
  Policy.Models.push_back(std::move(*Model));
  return std::make_shared<const OnnxPolicy>(std::move(Policy));
}

/// What is in use under that path, and for that spec where a model has none of its own; else what Load gives.
Expected<std::shared_ptr<const OnnxPolicy>> shared(const std::string &Path, const std::string &Digest,
                                                   const std::function<Expected<std::shared_ptr<const OnnxPolicy>>()> &Load) {
  static std::mutex Guard;
  static std::map<std::pair<std::string, std::string>, std::weak_ptr<const OnnxPolicy>> Open;
  std::error_code Ignored;
  const std::pair Key{std::filesystem::weakly_canonical(Path, Ignored).string(), Digest};
  const std::lock_guard Lock(Guard);
  if (auto Known = Open[Key].lock())
    return Known;
  auto Loaded = Load();
  if (Loaded)
    Open[Key] = *Loaded;
  return Loaded;
}

} // namespace

Expected<std::shared_ptr<const OnnxPolicy>> OnnxPolicy::open(const std::string &Folder) {
  return shared(Folder, "", [&] { return load(Folder); });
}

Expected<std::shared_ptr<const OnnxPolicy>> OnnxPolicy::ofModel(const std::string &Path, const BoundSpec &Spec) {
  return shared(Path, Spec.Digest, [&] { return loadModelAlone(Path, Spec); });
}

} // namespace mlcb
