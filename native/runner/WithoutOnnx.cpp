// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is left of ONNX models in a build without them (MLCB_ONNX=OFF): one sentence.
#include "runner/LocalModel.h"
#include "runner/OnnxRunner.h"

namespace mlcb {
namespace {

Unexpected refused(std::string_view What) {
  return fail(ErrorKind::InvalidArgument, std::string(What) + " is an ONNX model, which this build cannot run: expected a build with MLCB_ONNX=ON");
}

} // namespace

Expected<std::unique_ptr<ModelRunner>> OnnxRunner::open(const std::string &Path, bool) { return refused("'" + Path + "'"); }

struct LocalModel::Loaded {};

LocalModel::~LocalModel() = default;

void LocalModel::prepare() {}
std::vector<std::string> LocalModel::libraries() { return {}; }

Expected<std::unique_ptr<LocalModel>> LocalModel::load(std::span<const std::byte>, const AgentSpec &, std::span<const ModelRunner::Buffer>) {
  return refused("what the learner sent");
}

Expected<int64_t> LocalModel::choose(std::span<const int8_t>) { return refused("what the learner sent"); }
Expected<double> LocalModel::value() { return refused("what the learner sent"); }

} // namespace mlcb
