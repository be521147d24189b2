// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/AotRunner.h"

#include "runner/AotPolicy.h"

#include <algorithm>

namespace mlcb {

AotRunner::AotRunner(std::shared_ptr<const AotPolicy> Policy) : InProcessRunner({Policy, &Policy->Manifest}), Loaded(std::move(Policy)) {}

Expected<std::unique_ptr<AotRunner>> AotRunner::open(const std::string &Path) {
  return AotPolicy::open(Path).map([](auto Policy) { return std::unique_ptr<AotRunner>(new AotRunner(std::move(Policy))); });
}

bool AotRunner::readsInput(size_t Input, size_t Agent) const { return Loaded->Agents[Agent].reads[Input]; }

Expected<void> AotRunner::onBind() {
  if (auto Done = InProcessRunner::onBind(); !Done)
    return Done;
  Addresses.clear();
  Shapes.clear();
  for (const auto &Buffers : Inputs) {
    auto &Of = Addresses.emplace_back();
    for (const Buffer &Input : Buffers)
      Of.push_back(Input.Bytes.get());
    Shapes.emplace_back(Buffers.size());
  }
  return {};
}

Expected<void> AotRunner::run(size_t Agent) {
  std::ranges::transform(Inputs[Agent], Shapes[Agent].begin(), [](const Buffer &Input) { return Input.Shape.data(); });
  Loaded->Agents[Agent].model(Addresses[Agent].data(), Shapes[Agent].data(), Outputs[Agent].data());
  return {};
}

} // namespace mlcb
