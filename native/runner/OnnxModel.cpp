// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxModel.h"

#include "runner/OnnxGraph.h"
#include "spec/FileContents.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

namespace mlcb {
namespace {

/// Declared type of an input or output; a dynamic dimension is -1.
struct Signature {
  std::string Name;
  ONNXTensorElementDataType Type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<int64_t> Shape;
};

Unexpected invalid(const std::string &Path, const std::string &What) { return fail(ErrorKind::SpecMismatch, Path + ": " + What); }

/// Null for what is no tensor.
const OrtTensorTypeAndShapeInfo *tensorInfo(const OrtApi &Api, const OrtTypeInfo *Info) {
  const OrtTensorTypeAndShapeInfo *Tensor = nullptr;
  if (OrtStatus *Status = Api.CastTypeInfoToTensorInfo(Info, &Tensor))
    Api.ReleaseStatus(Status);
  return Tensor;
}

Signature signatureOf(const OrtApi &Api, const char *Name, const OrtTypeInfo *Info) {
  Signature Result{Name, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED, {}};
  const OrtTensorTypeAndShapeInfo *Tensor = tensorInfo(Api, Info);
  if (!Tensor)
    return Result;
  size_t Rank = 0;
  for (OrtStatus *Status : {Api.GetTensorElementType(Tensor, &Result.Type), Api.GetDimensionsCount(Tensor, &Rank)})
    if (Status)
      Api.ReleaseStatus(Status);
  Result.Shape.resize(Rank);
  if (OrtStatus *Status = Api.GetDimensions(Tensor, Result.Shape.data(), Rank))
    Api.ReleaseStatus(Status);
  return Result;
}

/// Reads all signatures through one trio of API functions: those of the inputs, or those of the outputs.
template <class CountFn, class NameFn, class TypeFn>
Expected<std::vector<Signature>> signatures(const OnnxModel &Model, CountFn Count, NameFn NameOf, TypeFn TypeOf) {
  const OnnxLibrary &Library = Model.library();
  const OrtApi &Api = *Library.Api;
  size_t N = 0;
  OrtAllocator *Allocator = nullptr;
  if (auto Done = Library.check((Api.*Count)(Model.session(), &N), Model.path()); !Done)
    return Unexpected(Done.error());
  if (auto Done = Library.check(Api.GetAllocatorWithDefaultOptions(&Allocator), Model.path()); !Done)
    return Unexpected(Done.error());
  std::vector<Signature> Result;
  for (size_t I = 0; I < N; ++I) {
    char *Name = nullptr;
    OrtTypeInfo *Info = nullptr;
    if (auto Done = Library.check((Api.*NameOf)(Model.session(), I, Allocator, &Name), Model.path()); !Done)
      return Unexpected(Done.error());
    auto Done = Library.check((Api.*TypeOf)(Model.session(), I, &Info), Model.path());
    if (Done)
      Result.push_back(signatureOf(Api, Name, Info));
    Api.ReleaseTypeInfo(Info);
    Allocator->Free(Allocator, Name);
    if (!Done)
      return Unexpected(Done.error());
  }
  return Result;
}

bool fits(int64_t Declared, const Dim &D) { return Declared == -1 || (D.How != Dim::Kind::AtMost && Declared == D.Size); }

bool fits(const Signature &Declared, const TensorSpec &Tensor) {
  if (Declared.Type != onnxType(Tensor.Type) || Declared.Shape.size() != Tensor.Shape.size() + 1)
    return false;
  if (Declared.Shape[0] != -1 && Declared.Shape[0] != 1)
    return false;
  return std::equal(Tensor.Shape.begin(), Tensor.Shape.end(), Declared.Shape.begin() + 1, [](const Dim &D, int64_t Size) { return fits(Size, D); });
}

constexpr std::array<std::string_view, 17> TypeNames{"?",    "float32", "uint8",   "int8",   "uint16", "int16",     "int32",      "int64",   "string",
                                                     "bool", "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16"};

/// As `float32[1,?]`; a dimension that varies is negative.
std::string text(std::string_view Type, std::span<const int64_t> Shape) {
  std::string Text(Type);
  Text += '[';
  for (size_t I = 0; I < Shape.size(); ++I) {
    Text += I ? "," : "";
    Text += Shape[I] < 0 ? "?" : std::to_string(Shape[I]);
  }
  Text += ']';
  return Text;
}

std::string text(const Signature &Declared) {
  const auto Type = static_cast<size_t>(Declared.Type);
  return text(Type < TypeNames.size() ? TypeNames[Type] : "?", Declared.Shape);
}

std::string text(const TensorSpec &Tensor) {
  std::vector<int64_t> Shape{1};
  for (const Dim &D : Tensor.Shape)
    Shape.push_back(D.varies() ? -1 : D.Size);
  return text(name(Tensor.Type), Shape);
}

Expected<OrtOwned<OrtSessionOptions>> sessionOptions(const OnnxLibrary &Library, const std::string &Path, bool Prepacks) {
  const OrtApi &Api = *Library.Api;
  OrtSessionOptions *Raw = nullptr;
  if (auto Done = Library.check(Api.CreateSessionOptions(&Raw), Path); !Done)
    return Unexpected(Done.error());
  OrtOwned<OrtSessionOptions> Options(Raw, Api.ReleaseSessionOptions);
  // One thread: the compiler's own, so that a build with many jobs is not slowed by pools.
  for (OrtStatus *Status : {Api.SetIntraOpNumThreads(Raw, 1), Api.SetInterOpNumThreads(Raw, 1),
                            Api.AddSessionConfigEntry(Raw, "session.load_model_format", "ONNX"), // the one that is checked
                            Api.AddSessionConfigEntry(Raw, "session.disable_prepacking", Prepacks ? "0" : "1")})
    if (auto Done = Library.check(Status, Path); !Done)
      return Unexpected(Done.error());
  return Options;
}

} // namespace

ONNXTensorElementDataType onnxType(DType Type) {
  // In the order of DType.
  static constexpr ONNXTensorElementDataType Types[] = {
      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,   ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,   ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
      ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED};
  static_assert(std::size(Types) == static_cast<size_t>(DType::String) + 1);
  return Types[static_cast<size_t>(Type)];
}

Expected<void> OnnxModel::findInputs(const AgentSpec &Agent) {
  auto Declared = signatures(*this, &OrtApi::SessionGetInputCount, &OrtApi::SessionGetInputName, &OrtApi::SessionGetInputTypeInfo);
  if (!Declared)
    return Unexpected(Declared.error());
  Reads.assign(Agent.Inputs.size(), false);
  for (const Signature &Input : *Declared) {
    const std::string Which = "input '" + Input.Name + "'";
    auto Found = std::ranges::find(Agent.Inputs, std::string_view(Input.Name), &TensorSpec::Name);
    if (Found == Agent.Inputs.end() || Found->Role == TensorRole::Mask)
      return invalid(Path, Which + " is none of agent '" + std::string(Agent.Name) + "'");
    if (!fits(Input, *Found))
      return invalid(Path, Which + " is " + text(Input) + ", expected " + text(*Found));
    Reads[static_cast<size_t>(Found - Agent.Inputs.begin())] = true;
  }
  return {};
}

Expected<void> OnnxModel::findOutput(const AgentSpec &Agent) {
  auto Declared = signatures(*this, &OrtApi::SessionGetOutputCount, &OrtApi::SessionGetOutputName, &OrtApi::SessionGetOutputTypeInfo);
  if (!Declared)
    return Unexpected(Declared.error());
  const Dim Outputs{Dim::Kind::Fixed, static_cast<int64_t>(Agent.Advice.outputs()), {}};
  const std::string_view Name = Agent.Advice.Kind == AdviceKind::Argmax ? "logits" : "value";
  const TensorSpec Wanted{Name, DType::Float32, {Outputs}, 0, 0, "", TensorRole::Input};
  auto Found = std::ranges::find(*Declared, Wanted.Name, &Signature::Name);
  if (Declared->size() == 1)
    Found = Declared->begin();
  if (Found == Declared->end())
    return invalid(Path, "it has no output '" + std::string(Wanted.Name) + "', expected " + text(Wanted));
  if (!fits(*Found, Wanted))
    return invalid(Path, "output '" + Found->Name + "' is " + text(*Found) + ", expected " + text(Wanted));
  Output = Found->Name;
  return {};
}

template <class CreateT> Expected<OnnxModel> OnnxModel::open(const std::string &Path, const AgentSpec &Agent, bool Prepacks, CreateT Create) {
  auto Library = OnnxLibrary::get();
  if (!Library)
    return Unexpected(Library.error());
  auto Options = sessionOptions(**Library, Path, Prepacks);
  if (!Options)
    return Unexpected(Options.error());
  OrtSession *Session = nullptr;
  if (auto Created = Create(**Library, Options->get(), &Session); !Created)
    return Unexpected(Created.error());
  OnnxModel Model(Path, **Library, OrtOwned<OrtSession>(Session, (*Library)->Api->ReleaseSession));
  if (auto Done = Model.findInputs(Agent); !Done)
    return Unexpected(Done.error());
  if (auto Done = Model.findOutput(Agent); !Done)
    return Unexpected(Done.error());
  return Model;
}

Expected<OnnxModel> OnnxModel::load(const std::string &Path, const AgentSpec &Agent, bool Prepacks, const std::string &CustomOperators) {
  const Expected<std::string> Read = readFile(Path);
  if (!Read)
    return Unexpected(Read.error());
  if (auto Checked = checkGraph(Path, std::as_bytes(std::span(*Read))); !Checked)
    return Unexpected(Checked.error());
  const std::string Folder = std::filesystem::absolute(Path).parent_path();
  return open(Path, Agent, Prepacks, [&](const OnnxLibrary &Library, OrtSessionOptions *Options, OrtSession **Session) -> Expected<void> {
    const OrtApi &Api = *Library.Api;
    if (auto Done = Library.check(Api.AddSessionConfigEntry(Options, "session.model_external_initializers_file_folder_path", Folder.c_str()), Path);
        !Done)
      return Done;
    if (!CustomOperators.empty()) // the session keeps the library open
      if (auto Done = Library.check(Api.RegisterCustomOpsLibrary_V2(Options, CustomOperators.c_str()), CustomOperators); !Done)
        return Done;
    return Library.check(Api.CreateSessionFromArray(Library.Env, Read->data(), Read->size(), Options, Session), Path); // what was checked
  });
}

Expected<OnnxModel> OnnxModel::parse(const std::string &Name, std::span<const std::byte> Contents, const AgentSpec &Agent) {
  if (auto Checked = checkGraph(Name, Contents); !Checked)
    return Unexpected(Checked.error());
  return open(Name, Agent, /*Prepacks=*/true, [&](const OnnxLibrary &Library, OrtSessionOptions *Options, OrtSession **Session) {
    return Library.check(Library.Api->CreateSessionFromArray(Library.Env, Contents.data(), Contents.size(), Options, Session), Name);
  });
}

} // namespace mlcb
