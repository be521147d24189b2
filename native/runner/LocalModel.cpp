// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/LocalModel.h"

#include "runner/InProcessRunner.h"
#include "runner/OnnxQuery.h"

namespace mlcb {

struct LocalModel::Loaded {
  const AgentSpec &Agent;
  OnnxModel Model;
  std::vector<float> Output;
  std::optional<OnnxQuery> Query;
};

LocalModel::LocalModel(std::unique_ptr<Loaded> Is) : Is(std::move(Is)) {}
LocalModel::~LocalModel() = default;

void LocalModel::prepare() { (void)OnnxLibrary::get(); }
std::vector<std::string> LocalModel::libraries() { return OnnxLibrary::candidates(); }

Expected<std::unique_ptr<LocalModel>> LocalModel::load(std::span<const std::byte> Onnx, const AgentSpec &Agent,
                                                       std::span<const ModelRunner::Buffer> Inputs) {
  auto Model = OnnxModel::parse("the learner's model", Onnx, Agent);
  if (!Model)
    return Unexpected(Model.error());
  auto Is = std::make_unique<Loaded>(Agent, std::move(*Model));
  Is->Output.resize(Agent.Advice.outputs());
  auto Query = OnnxQuery::make(Is->Model, Agent, Inputs, Is->Output);
  if (!Query)
    return Unexpected(Query.error());
  Is->Query = std::move(*Query);
  return std::unique_ptr<LocalModel>(new LocalModel(std::move(Is)));
}

Expected<int64_t> LocalModel::choose(std::span<const int8_t> Legal) {
  return Is->Query->run().and_then([&] { return bestAllowed(Is->Output, Legal, Is->Agent); });
}

Expected<double> LocalModel::value() {
  return Is->Query->run().and_then([&] { return valueOf(Is->Output, Is->Agent); });
}

} // namespace mlcb
