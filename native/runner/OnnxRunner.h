// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `onnx:FOLDER` and `onnx:MODEL.onnx`, a trained policy or any model inside the compiler's own process.
#pragma once

#include "runner/InProcessRunner.h"

namespace mlcb {

class OnnxQuery;
struct OnnxPolicy;

class OnnxRunner final : public InProcessRunner {
public:
  /// Loads policy.json and the models of the folder, or takes them from another runner of this process. A file is a model
  /// alone: it is for whatever it is bound to, and loaded then. A policy that has operators of its own, which are code, is refused unless that
  /// is trusted. A build without ONNX refuses all.
  static Expected<std::unique_ptr<ModelRunner>> open(const std::string &Path, bool TrustsCode);
  ~OnnxRunner() override;

  bool readsInput(size_t Input, size_t Agent) const override;

private:
  explicit OnnxRunner(std::string ModelPath);
  explicit OnnxRunner(std::shared_ptr<const OnnxPolicy> Policy);

  Expected<void> onBind() override;
  Expected<void> run(size_t Agent) override;

  std::string ModelPath;                    // of a model alone
  std::shared_ptr<const OnnxPolicy> Loaded; // of a model alone, null until it is bound
  std::vector<OnnxQuery> Queries;           // [agent]
};

} // namespace mlcb
