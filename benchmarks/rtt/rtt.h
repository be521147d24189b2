// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is asked, and how a question is timed.
#pragma once

#include "spec/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace mlcb::rtt {

/// Answers a vector.
using Model = std::function<Expected<float>(const std::vector<float> &)>;

/// The vector and the weights of a length; benchmarks/rtt/__init__.py has the same.
std::vector<float> vectorOf(size_t Length);
std::vector<float> weightsOf(size_t Length);

/// For each length: prints it, the median seconds of a question, and the answer. MakeModel is called, and asked once, before the clock runs.
Expected<void> timeAll(const std::function<Expected<Model>(size_t)> &MakeModel);

/// A loop: std::transform_reduce was four times slower.
inline float dot(const float *A, const float *B, size_t Length) {
  float Sum = 0;
  for (size_t I = 0; I < Length; ++I)
    Sum += A[I] * B[I];
  return Sum;
}

/// Each moves the bytes of a vector to another process and eight back, or none, and does the dot product there.
Expected<Model> dotFloor(size_t Length);
Expected<Model> fifoFloor(size_t Length);
Expected<Model> shmFloor(size_t Length);
Expected<Model> grpcFloor(size_t Length);

/// Writes the vector as JSON with nlohmann, in the fewest digits; nobody reads it.
Expected<Model> jsonDump(size_t Length);

/// ONNX Runtime's own call, of the model Folder/LENGTH/model.onnx; which way of keeping weights is faster differs from model to model.
Expected<Model> onnxFloor(const std::string &Folder, bool Packed, size_t Length);

} // namespace mlcb::rtt
