// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxRunner.h"

#include "runner/OnnxPolicy.h"

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

OnnxRunner::OnnxRunner(std::string ModelPath) : InProcessRunner(nullptr), ModelPath(std::move(ModelPath)) {}
OnnxRunner::OnnxRunner(std::shared_ptr<const OnnxPolicy> Policy)
    : InProcessRunner({Policy, &Policy->Manifest}), Loaded(std::move(Policy)) {}
OnnxRunner::~OnnxRunner() = default;

Expected<std::unique_ptr<OnnxRunner>> OnnxRunner::open(const std::string &Path) {
  std::error_code Ignored;
  if (std::filesystem::is_regular_file(Path, Ignored))
    return std::unique_ptr<OnnxRunner>(new OnnxRunner(Path));
  return OnnxPolicy::open(Path).map([](auto Policy) { return std::unique_ptr<OnnxRunner>(new OnnxRunner(std::move(Policy))); });
}

bool OnnxRunner::readsInput(size_t Input, size_t Agent) const { return Loaded->Models[Agent].reads(Input); }

Expected<void> OnnxRunner::onBind() {
  if (!ModelPath.empty()) {
    auto Model = OnnxPolicy::ofModel(ModelPath, Spec);
    if (!Model)
      return Unexpected(Model.error());
    Loaded = std::move(*Model);
  }
  if (auto Done = InProcessRunner::onBind(); !Done)
    return Done;
  Queries.clear();
  for (size_t Agent = 0; Agent < Inputs.size(); ++Agent) {
    const AgentSpec &Declared = Spec.Task.Agents[Agent];
    Query &New = Queries.emplace_back();
    New.Model = &Loaded->Models[Agent];
    for (size_t I = 0; I < Declared.Inputs.size(); ++I)
      if (New.Model->reads(I))
        New.Inputs.push_back({&Inputs[Agent][I], std::string(Declared.Inputs[I].Name), Declared.Inputs[I].Type, {}});
    for (const Query::Input &In : New.Inputs)
      New.Names.push_back(In.Name.c_str());
    New.Values.resize(New.Inputs.size());
    New.OutputName = New.Model->output().c_str();
    std::vector<float> &Output = Outputs[Agent];
    const int64_t Shape[] = {1, static_cast<int64_t>(Output.size())};
    auto Value = New.tensor(Output.data(), Output.size() * sizeof(float), Shape, DType::Float32);
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

} // namespace mlcb
