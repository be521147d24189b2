// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `onnx:FOLDER` and `onnx:MODEL.onnx`, a trained policy or any model inside the compiler's own process.
#pragma once

#include "runner/ModelRunner.h"

namespace mlcb {

struct OnnxPolicy;

class OnnxRunner final : public ModelRunner {
public:
  /// Loads policy.json and the models of the folder, or takes them from another runner of this process. A file is a model
  /// alone: it is for whatever it is bound to, and loaded then.
  static Expected<std::unique_ptr<OnnxRunner>> open(const std::string &Path);
  ~OnnxRunner() override;

  std::string_view task() const override;
  std::string_view parameters() const override;

private:
  struct Query; // the tensors of one agent as ONNX Runtime sees them

  OnnxRunner(std::string ModelPath, std::shared_ptr<const OnnxPolicy> Policy);

  Expected<void> onBind() override;
  Expected<int64_t> choose(size_t Agent) override;
  Expected<double> value(size_t Agent) override;
  Expected<void> run(size_t Agent);

  std::string ModelPath;                    // of a model alone
  std::shared_ptr<const OnnxPolicy> Policy; // of a model alone, null until it is bound
  std::vector<Query> Queries; // [agent]
};

/// The legal index of the largest logit; one that is NaN counts as masked. The first legal one where all are NaN, -1 where none is
/// legal. An empty mask allows everything.
int64_t maskedArgmax(std::span<const float> Logits, std::span<const int8_t> Legal);

} // namespace mlcb
