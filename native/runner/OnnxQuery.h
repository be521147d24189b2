// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions of an agent to its model. For .cpp files only.
#pragma once

#include "runner/ModelRunner.h"
#include "runner/OnnxModel.h"

namespace mlcb {

/// Values over the buffers of a runner: nothing is copied for a query.
class OnnxQuery {
public:
  /// Model, Inputs, which are the agent's, and Output must outlive it and stay at their place.
  static Expected<OnnxQuery> make(const OnnxModel &Model, const AgentSpec &Agent, std::span<const ModelRunner::Buffer> Inputs,
                                  std::span<float> Output);

  /// Puts the logits, or the value, for what the buffers hold now into Output.
  Expected<void> run();

private:
  struct Input {
    const ModelRunner::Buffer *From;
    std::string Name;
    DType Type;
    std::vector<int64_t> Shape; // of the value, batch first
    OrtOwned<OrtValue> Value{nullptr, nullptr};

    bool isCurrent() const { return Value && std::equal(Shape.begin() + 1, Shape.end(), From->Shape.begin(), From->Shape.end()); }
  };

  explicit OnnxQuery(const OnnxModel &Model) : Model(&Model) {}

  Expected<OrtOwned<OrtValue>> tensor(void *Data, size_t Bytes, std::span<const int64_t> Shape, DType Type) const;
  Expected<void> refresh();

  const OnnxModel *Model;
  std::vector<Input> Inputs;
  std::vector<const char *> Names;
  std::vector<const OrtValue *> Values;
  OrtOwned<OrtValue> OutputValue{nullptr, nullptr};
};

} // namespace mlcb
