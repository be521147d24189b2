// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxRunner.h"

#include "runner/OnnxPolicy.h"
#include "runner/OnnxQuery.h"

#include <filesystem>

namespace mlcb {

OnnxRunner::OnnxRunner(std::string ModelPath) : InProcessRunner(nullptr), ModelPath(std::move(ModelPath)) {}
OnnxRunner::OnnxRunner(std::shared_ptr<const OnnxPolicy> Policy) : InProcessRunner({Policy, &Policy->Manifest}), Loaded(std::move(Policy)) {}
OnnxRunner::~OnnxRunner() = default;

Expected<std::unique_ptr<ModelRunner>> OnnxRunner::open(const std::string &Path, bool TrustsCode) {
  std::error_code Ignored;
  if (std::filesystem::is_regular_file(Path, Ignored))
    return std::unique_ptr<ModelRunner>(new OnnxRunner(Path));
  return OnnxPolicy::open(Path, TrustsCode).map([](auto Policy) { return std::unique_ptr<ModelRunner>(new OnnxRunner(std::move(Policy))); });
}

bool OnnxRunner::readsInput(size_t Input, size_t Agent) const { return Loaded->Models[Agent].reads(Input); }

Expected<void> OnnxRunner::onBind() {
  if (!ModelPath.empty()) {
    auto Model = OnnxPolicy::ofModel(ModelPath, Spec);
    if (!Model)
      return Unexpected(Model.error());
    Loaded = std::move(*Model);
  }
  if (auto Done = InProcessRunner::onBind(); !Done)
    return Done;
  Queries.clear();
  for (size_t Agent = 0; Agent < Inputs.size(); ++Agent) {
    auto New = OnnxQuery::make(Loaded->Models[Agent], Spec.Task.Agents[Agent], Inputs[Agent], Outputs[Agent]);
    if (!New)
      return Unexpected(New.error());
    Queries.push_back(std::move(*New));
  }
  return {};
}

Expected<void> OnnxRunner::run(size_t Agent) { return Queries[Agent].run(); }

} // namespace mlcb
