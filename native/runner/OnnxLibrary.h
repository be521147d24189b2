// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ONNX Runtime, opened when a model is first asked for. For .cpp files only.
#pragma once

#include "spec/Error.h"

#include <memory>
#include <onnxruntime_c_api.h>
#include <string>
#include <vector>

namespace mlcb {

/// The library of this process: opened once and never closed, for its threads outlive any owner.
struct OnnxLibrary {
  const OrtApi *Api = nullptr;
  OrtEnv *Env = nullptr;
  OrtMemoryInfo *Cpu = nullptr;

  /// Opens the file that MLCB_ONNXRUNTIME names, else the one of Python's onnxruntime, else what the system has.
  static Expected<const OnnxLibrary *> get();

  /// The files that are tried, in this order: looked for once, for a sandbox may hide their folders later.
  static const std::vector<std::string> &candidates();

  /// An error of the first line of the status, which is released; none where it is null.
  Expected<void> check(OrtStatus *Status, const std::string &What) const;
};

template <class T> using OrtOwned = std::unique_ptr<T, void (*)(T *)>;

} // namespace mlcb
