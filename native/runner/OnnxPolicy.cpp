// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxPolicy.h"

#include "spec/FileContents.h"

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>

namespace mlcb {
namespace {

/// The path of the policy's library of operators, which is code: it lies in the policy's own folder, and is no link out of it.
Expected<std::string> customOperators(const std::string &Folder, const std::string &File, bool TrustsCode) {
  if (File.empty())
    return "";
  if (!TrustsCode)
    return fail(ErrorKind::InvalidArgument, Folder + ": its custom_operators, " + File +
                                                ", are code: expected onnx:FOLDER?trust=code (mlcb clang-config --trust) if it may run here");
  std::error_code Missing;
  const auto Own = std::filesystem::canonical(Folder, Missing), Path = std::filesystem::canonical(Own / File, Missing);
  if (Missing)
    return fail(ErrorKind::SystemError, Folder + "/" + File + ": " + Missing.message());
  if (Path.parent_path() != Own)
    return fail(ErrorKind::InvalidArgument, Folder + "/" + File + " is a link out of the policy's folder, to " + Path.string());
  return Path.string();
}

constexpr size_t MaxManifest = size_t(64) << 20; // as the longest frame: it is mostly a spec

Expected<std::shared_ptr<const OnnxPolicy>> load(const std::string &Folder, bool TrustsCode) {
  const std::string Path = Folder + "/policy.json";
  auto Manifest = readFile(Path, MaxManifest).and_then([&](const std::string &Text) { return PolicyManifest::parse(Path, Text); });
  if (!Manifest)
    return Unexpected(Manifest.error());
  auto Operators = customOperators(Folder, Manifest->CustomOperators, TrustsCode);
  if (!Operators)
    return Unexpected(Operators.error());
  auto Policy = std::make_shared<OnnxPolicy>(std::move(*Manifest));
  const auto &Agents = Policy->Manifest.Spec.Task.Agents;
  for (size_t Agent = 0; Agent < Agents.size(); ++Agent) {
    const PolicyModel &Named = Policy->Manifest.Models[Agent];
    auto Model = OnnxModel::load(Folder + "/" + Named.File, Agents[Agent], Named.Prepacks, *Operators);
    if (!Model)
      return Unexpected(Model.error());
    Policy->Models.push_back(std::move(*Model));
  }
  return Policy;
}

Expected<std::shared_ptr<const OnnxPolicy>> loadModelAlone(const std::string &Path, const BoundSpec &Spec) {
  const auto &Agents = Spec.Task.Agents;
  if (Agents.size() != 1)
    return fail(ErrorKind::SpecMismatch,
                Path + " is one model, task '" + std::string(Spec.Task.Name) + "' has " + std::to_string(Agents.size()) + " agents");
  auto Model = OnnxModel::load(Path, Agents[0]);
  if (!Model)
    return Unexpected(Model.error());
  auto Policy = std::make_shared<OnnxPolicy>(PolicyManifest{Path, Spec, Spec.toJson(), {}, {}, {}});
  Policy->Models.push_back(std::move(*Model));
  return Policy;
}

/// The policy in use under that path, and for that spec where a model has none of its own; else the result of Load.
Expected<std::shared_ptr<const OnnxPolicy>> shared(const std::string &Path, const std::string &Digest,
                                                   const std::function<Expected<std::shared_ptr<const OnnxPolicy>>()> &Load) {
  static std::mutex Guard;
  static std::map<std::pair<std::string, std::string>, std::weak_ptr<const OnnxPolicy>> Open;
  std::error_code Ignored;
  const std::pair Key{std::filesystem::weakly_canonical(Path, Ignored).string(), Digest};
  const std::scoped_lock Lock(Guard);
  if (auto Known = Open[Key].lock())
    return Known;
  auto Loaded = Load();
  if (Loaded)
    Open[Key] = *Loaded;
  return Loaded;
}

} // namespace

Expected<std::shared_ptr<const OnnxPolicy>> OnnxPolicy::open(const std::string &Folder, bool TrustsCode) {
  return shared(Folder, TrustsCode ? "code" : "", [&] { return load(Folder, TrustsCode); });
}

Expected<std::shared_ptr<const OnnxPolicy>> OnnxPolicy::ofModel(const std::string &Path, const BoundSpec &Spec) {
  return shared(Path, Spec.Digest, [&] { return loadModelAlone(Path, Spec); });
}

} // namespace mlcb
