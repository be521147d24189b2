// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One ONNX file: a session, and a check that it is a model of an agent. For .cpp files only.
#pragma once

#include "runner/OnnxLibrary.h"
#include "spec/TaskSpec.h"

#include <span>

namespace mlcb {

/// The model of one agent, shared by runners and threads.
///
/// Its inputs are those of the agent's tensors that it reads (never the mask), by name, each with a leading batch dimension; its
/// output is float32: `logits` [1, choices] for argmax, `value` [1, 1] for value; where it has one output, that may have any name.
class OnnxModel {
public:
  /// CustomOperators is the path of a library that registers operators of the model's own; empty if it has none.
  static Expected<OnnxModel> load(const std::string &Path, const AgentSpec &Agent, bool Prepacks = true, const std::string &CustomOperators = "");

  /// Likewise, of a file's contents; Name is what errors call it.
  static Expected<OnnxModel> parse(const std::string &Name, std::span<const std::byte> Contents, const AgentSpec &Agent);

  const OnnxLibrary &library() const { return *Library; }
  OrtSession *session() const { return Session.get(); }
  const std::string &path() const { return Path; }

  const std::string &output() const { return Output; }

  /// Whether it has the input of that index in the agent's spec.
  bool reads(size_t Input) const { return Reads[Input]; }

private:
  OnnxModel(std::string Path, const OnnxLibrary &Library, OrtOwned<OrtSession> Session)
      : Path(std::move(Path)), Library(&Library), Session(std::move(Session)) {}

  /// Create makes a session with options.
  template <class CreateT> static Expected<OnnxModel> open(const std::string &Path, const AgentSpec &Agent, bool Prepacks, CreateT Create);

  Expected<void> findInputs(const AgentSpec &Agent);
  Expected<void> findOutput(const AgentSpec &Agent);

  std::string Path, Output;
  const OnnxLibrary *Library;
  OrtOwned<OrtSession> Session;
  std::vector<bool> Reads; // [input]
};

/// ONNX's element type; undefined for strings.
ONNXTensorElementDataType onnxType(DType Type);

} // namespace mlcb
