// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/ModelRunner.h"

#include <algorithm>

namespace mlcb {

ModelRunner::~ModelRunner() = default;

ModelRunner::Buffer::Buffer(const TensorSpec &Spec) : Type(Spec.Type), Elements(Spec.maxElements()), Shape(Spec.maxShape()) {
  // At least one element, so that a metric and an empty tensor have an address.
  const size_t Size = std::max<size_t>(Elements * byteSize(Type), 8);
  Bytes.reset(static_cast<std::byte *>(::operator new[](Size, Alignment)));
  std::fill_n(Bytes.get(), Size, std::byte{});
}

void ModelRunner::Buffer::resize(std::span<const int64_t> NewShape) {
  Shape.assign(NewShape.begin(), NewShape.end());
  Elements = 1;
  for (int64_t Length : Shape)
    Elements *= static_cast<size_t>(Length);
}

std::span<std::byte> ModelRunner::Buffer::bytes() {
  if (Type == DType::String)
    return std::as_writable_bytes(std::span(Text));
  return {Bytes.get(), Elements * byteSize(Type)};
}

std::span<const std::byte> ModelRunner::Buffer::bytes() const { return const_cast<Buffer *>(this)->bytes(); }

Expected<void> ModelRunner::bind(BoundSpec Bound) {
  Spec = std::move(Bound);
  Inputs.clear();
  Metrics.clear();
  for (const AgentSpec &Agent : Spec.Task.Agents) {
    auto &Buffers = Inputs.emplace_back();
    for (const TensorSpec &Tensor : Agent.Inputs)
      Buffers.emplace_back(Tensor);
  }
  for (const TensorSpec &Metric : Spec.Task.Metrics)
    Metrics.emplace_back(Metric);
  WantedMetrics.assign(Metrics.size(), false);
  return onBind();
}

void ModelRunner::resize(size_t Input, std::span<const int64_t> Shape, size_t Agent) {
  if (!Spec.Task.Agents[Agent].Inputs[Input].allows(Shape))
    std::abort();
  Inputs[Agent][Input].resize(Shape);
}

std::span<const int8_t> ModelRunner::mask(size_t Agent) const {
  const int Index = Spec.Task.Agents[Agent].maskIndex();
  if (Index < 0)
    return {};
  const Buffer &Mask = Inputs[Agent][static_cast<size_t>(Index)];
  return {reinterpret_cast<const int8_t *>(Mask.Bytes.get()), Mask.Elements};
}

Expected<void> ModelRunner::end(EndReason, size_t) { return {}; }

} // namespace mlcb
