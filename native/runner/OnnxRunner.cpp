// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxRunner.h"

#include "runner/OnnxPolicy.h"

#include <cmath>
#include <filesystem>

namespace mlcb {

/// Values over the runner's own buffers: nothing is copied for a query.
struct OnnxRunner::Query {
  struct Input {
    const Buffer *From;
    std::string Name;
    DType Type;
    std::vector<int64_t> Shape; // of the value, batch first
    OrtOwned<OrtValue> Value{nullptr, nullptr};

    bool isCurrent() const { return Value && std::equal(Shape.begin() + 1, Shape.end(), From->Shape.begin(), From->Shape.end()); }
  };

  const OnnxModel *Model;
  std::vector<Input> Inputs;
  std::vector<const char *> Names;
  std::vector<const OrtValue *> Values;
  std::vector<float> Output;
  const char *OutputName;
  OrtOwned<OrtValue> OutputValue{nullptr, nullptr};

  Expected<OrtOwned<OrtValue>> tensor(void *Data, size_t Bytes, std::span<const int64_t> Shape, DType Type) const {
    const OnnxLibrary &Library = Model->library();
    OrtValue *Value = nullptr;
    auto Done = Library.check(Library.Api->CreateTensorWithDataAsOrtValue(Library.Cpu, Data, Bytes, Shape.data(),
                                                                          Shape.size(), onnxType(Type), &Value),
                              Model->path());
    if (!Done)
      return Unexpected(Done.error());
    return OrtOwned<OrtValue>(Value, Library.Api->ReleaseValue);
  }

  /// Makes the values of inputs whose shape has changed since the last query.
  Expected<void> refresh() {
    for (size_t I = 0; I < Inputs.size(); ++I) {
      Input &In = Inputs[I];
      if (In.isCurrent())
        continue;
      In.Shape.assign(1, 1);
      In.Shape.insert(In.Shape.end(), In.From->Shape.begin(), In.From->Shape.end());
      auto Value = tensor(In.From->Bytes.get(), In.From->Elements * byteSize(In.Type), In.Shape, In.Type);
      if (!Value)
        return Unexpected(Value.error());
      In.Value = std::move(*Value);
      Values[I] = In.Value.get();
    }
    return {};
  }
};

OnnxRunner::OnnxRunner(std::string ModelPath, std::shared_ptr<const OnnxPolicy> Policy)
    : ModelPath(std::move(ModelPath)), Policy(std::move(Policy)) {}
OnnxRunner::~OnnxRunner() = default;

Expected<std::unique_ptr<OnnxRunner>> OnnxRunner::open(const std::string &Path) {
  std::error_code Ignored;
  if (std::filesystem::is_regular_file(Path, Ignored))
    return std::unique_ptr<OnnxRunner>(new OnnxRunner(Path, nullptr));
  auto Policy = OnnxPolicy::open(Path);
  if (!Policy)
    return Unexpected(Policy.error());
  return std::unique_ptr<OnnxRunner>(new OnnxRunner("", std::move(*Policy)));
}

std::string_view OnnxRunner::task() const { return ModelPath.empty() ? Policy->Spec.Task.Name : ""; }

std::string_view OnnxRunner::parameters() const {
  if (ModelPath.empty())
    return Policy->Spec.Parameters;
  return "{}";
}

Expected<void> OnnxRunner::onBind() {
  if (!ModelPath.empty()) {
    auto Model = OnnxPolicy::ofModel(ModelPath, Spec);
    if (!Model)
      return Unexpected(Model.error());
    Policy = std::move(*Model);
  }
  if (Spec.Digest != Policy->Spec.Digest)
    return fail(ErrorKind::SpecMismatch,
                Policy->Folder + ": " + describeMismatch(Spec.toJson(), Policy->SpecJson, "the policy"));
  Queries.clear();
  for (size_t Agent = 0; Agent < Inputs.size(); ++Agent) {
    const AgentSpec &Declared = Spec.Task.Agents[Agent];
    Query &New = Queries.emplace_back();
    New.Model = &Policy->Models[Agent];
    for (size_t I = 0; I < Declared.Inputs.size(); ++I)
      if (const TensorSpec &Tensor = Declared.Inputs[I]; Tensor.Role != TensorRole::Mask)
        New.Inputs.push_back({&Inputs[Agent][I], std::string(Tensor.Name), Tensor.Type, {}});
    for (const Query::Input &In : New.Inputs)
      New.Names.push_back(In.Name.c_str());
    New.Values.resize(New.Inputs.size());
    const bool Argmax = Declared.Advice.Kind == AdviceKind::Argmax;
    New.Output.resize(Argmax ? static_cast<size_t>(Declared.Advice.Choices.Size) : 1);
    New.OutputName = New.Model->output().c_str();
    const int64_t Shape[] = {1, static_cast<int64_t>(New.Output.size())};
    auto Value = New.tensor(New.Output.data(), New.Output.size() * sizeof(float), Shape, DType::Float32);
    if (!Value)
      return Unexpected(Value.error());
    New.OutputValue = std::move(*Value);
  }
  return {};
}

Expected<void> OnnxRunner::run(size_t Agent) {
  Query &Q = Queries[Agent];
  if (auto Done = Q.refresh(); !Done)
    return Done;
  const OnnxLibrary &Library = Q.Model->library();
  OrtValue *Output = Q.OutputValue.get();
  return Library.check(Library.Api->Run(Q.Model->session(), nullptr, Q.Names.data(), Q.Values.data(), Q.Values.size(),
                                        &Q.OutputName, 1, &Output),
                       Q.Model->path());
}

Expected<int64_t> OnnxRunner::choose(size_t Agent) {
  if (auto Done = run(Agent); !Done)
    return Unexpected(Done.error());
  const int64_t Best = maskedArgmax(Queries[Agent].Output, mask(Agent));
  if (Best < 0)
    return fail(ErrorKind::InvalidArgument, "the mask of agent '" + std::string(Spec.Task.Agents[Agent].Name) + "' allows nothing");
  return Best;
}

Expected<double> OnnxRunner::value(size_t Agent) {
  return run(Agent).map([&] { return static_cast<double>(Queries[Agent].Output[0]); });
}

int64_t maskedArgmax(std::span<const float> Logits, std::span<const int8_t> Legal) {
  int64_t First = -1, Best = -1;
  for (size_t I = 0; I < Logits.size(); ++I) {
    if (!Legal.empty() && !Legal[I])
      continue;
    const auto Index = static_cast<int64_t>(I);
    First = First < 0 ? Index : First;
    if (!std::isnan(Logits[I]) && (Best < 0 || Logits[I] > Logits[static_cast<size_t>(Best)]))
      Best = Index;
  }
  return Best >= 0 ? Best : First;
}

} // namespace mlcb
