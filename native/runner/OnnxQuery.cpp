// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxQuery.h"

namespace mlcb {

Expected<OnnxQuery> OnnxQuery::make(const OnnxModel &Model, const AgentSpec &Agent, std::span<const ModelRunner::Buffer> Inputs,
                                    std::span<float> Output) {
  OnnxQuery New(Model);
  for (size_t I = 0; I < Inputs.size(); ++I)
    if (Model.reads(I))
      New.Inputs.push_back({&Inputs[I], std::string(Agent.Inputs[I].Name), Agent.Inputs[I].Type, {}});
  for (const Input &In : New.Inputs)
    New.Names.push_back(In.Name.c_str());
  New.Values.resize(New.Inputs.size());
  const int64_t Shape[] = {1, static_cast<int64_t>(Output.size())};
  auto Value = New.tensor(Output.data(), Output.size_bytes(), Shape, DType::Float32);
  if (!Value)
    return Unexpected(Value.error());
  New.OutputValue = std::move(*Value);
  return New;
}

Expected<OrtOwned<OrtValue>> OnnxQuery::tensor(void *Data, size_t Bytes, std::span<const int64_t> Shape, DType Type) const {
  const OnnxLibrary &Library = Model->library();
  OrtValue *Value = nullptr;
  auto Done = Library.check(Library.Api->CreateTensorWithDataAsOrtValue(Library.Cpu, Data, Bytes, Shape.data(), Shape.size(), onnxType(Type), &Value),
                            Model->path());
  if (!Done)
    return Unexpected(Done.error());
  return OrtOwned<OrtValue>(Value, Library.Api->ReleaseValue);
}

/// Makes the values of inputs whose shape has changed since the last query.
Expected<void> OnnxQuery::refresh() {
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

Expected<void> OnnxQuery::run() {
  if (auto Done = refresh(); !Done)
    return Done;
  const OnnxLibrary &Library = Model->library();
  const char *OutputName = Model->output().c_str();
  OrtValue *Output = OutputValue.get();
  return Library.check(Library.Api->Run(Model->session(), nullptr, Names.data(), Values.data(), Values.size(), &OutputName, 1, &Output),
                       Model->path());
}

} // namespace mlcb
