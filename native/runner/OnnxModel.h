// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One ONNX file: a session, and a check that it is a model of an agent. For .cpp files only.
#pragma once

#include "runner/OnnxLibrary.h"
#include "spec/TaskSpec.h"

namespace mlcb {

/// The model of one agent, shared by runners and threads.
///
/// Its inputs are the agent's tensors but the mask, by name, each with a leading batch dimension; its output is float32:
/// `logits` [1, choices] for argmax, `value` [1, 1] for value; where it has one output, that may have any name.
class OnnxModel {
public:
  static Expected<OnnxModel> load(const std::string &Path, const AgentSpec &Agent);

  const OnnxLibrary &library() const { return *Library; }
  OrtSession *session() const { return Session.get(); }
  const std::string &path() const { return Path; }

  const std::string &output() const { return Output; }

private:
  OnnxModel(std::string Path, const OnnxLibrary &Library, OrtOwned<OrtSession> Session)
      : Path(std::move(Path)), Library(&Library), Session(std::move(Session)) {}

  Expected<void> checkInputs(const AgentSpec &Agent) const;
  Expected<void> findOutput(const AgentSpec &Agent);

  std::string Path, Output;
  const OnnxLibrary *Library;
  OrtOwned<OrtSession> Session;
};

/// ONNX's element type; undefined for strings.
ONNXTensorElementDataType onnxType(DType Type);

} // namespace mlcb
