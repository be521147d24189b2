// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an ONNX model, of which what may loop is looked for: none is read beyond its end.
#include "runner/OnnxGraph.h"

#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  const auto Bytes = std::as_bytes(std::span(Data, Size));
  (void)mlcb::checkGraph("model", std::vector(Bytes.begin(), Bytes.end()));
  return 0;
}
