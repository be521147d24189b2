// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A model that a learner sends, and that answers in its place from then on.
#pragma once

#include "runner/ModelRunner.h"

#include <string>
#include <vector>

namespace mlcb {

class LocalModel {
public:
  /// Loads ONNX Runtime, so that forks of this process need not; where that fails, load() says why.
  static void prepare();

  /// The files of ONNX Runtime that may be loaded, the first that fits.
  static std::vector<std::string> libraries();

  /// Inputs are the agent's, and the agent the runner's: both outlive it.
  static Expected<std::unique_ptr<LocalModel>> load(std::span<const std::byte> Onnx, const AgentSpec &Agent,
                                                    std::span<const ModelRunner::Buffer> Inputs);

  Expected<int64_t> choose(std::span<const int8_t> Legal);
  Expected<double> value();

  ~LocalModel();

private:
  struct Loaded;

  explicit LocalModel(std::unique_ptr<Loaded> Is);

  std::unique_ptr<Loaded> Is;
};

} // namespace mlcb
