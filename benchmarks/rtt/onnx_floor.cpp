// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The least that a query of ONNX Runtime can cost: its own call on tensors made before, with the weights packed for it, or as they lie.
#include "rtt.h"
#include "runner/OnnxLibrary.h"

#include <array>

namespace mlcb::rtt {
namespace {

Expected<std::shared_ptr<OrtSession>> openSession(const OnnxLibrary &Library, const std::string &Path, bool Packed) {
  const OrtApi &Api = *Library.Api;
  OrtSessionOptions *Options = nullptr;
  OrtSession *Session = nullptr;
  if (auto Done = Library.check(Api.CreateSessionOptions(&Options), Path); !Done)
    return Unexpected(Done.error());
  const OrtOwned<OrtSessionOptions> Owned(Options, Api.ReleaseSessionOptions);
  for (OrtStatus *Status :
       {Api.SetIntraOpNumThreads(Options, 1), Api.AddSessionConfigEntry(Options, "session.disable_prepacking", Packed ? "0" : "1"),
        Api.CreateSession(Library.Env, Path.c_str(), Options, &Session)})
    if (auto Done = Library.check(Status, Path); !Done)
      return Unexpected(Done.error());
  return std::shared_ptr<OrtSession>(Session, Api.ReleaseSession);
}

Expected<std::shared_ptr<OrtValue>> tensorOver(const OnnxLibrary &Library, float *Data, size_t Length) {
  const std::array<int64_t, 2> Shape{1, static_cast<int64_t>(Length)};
  OrtValue *Value = nullptr;
  auto Done = Library.check(Library.Api->CreateTensorWithDataAsOrtValue(Library.Cpu, Data, Length * sizeof(float), Shape.data(), Shape.size(),
                                                                        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &Value),
                            "tensor");
  if (!Done)
    return Unexpected(Done.error());
  return std::shared_ptr<OrtValue>(Value, Library.Api->ReleaseValue);
}

} // namespace

Expected<Model> onnxFloor(const std::string &Folder, bool Packed, size_t Length) {
  auto Library = OnnxLibrary::get();
  if (!Library)
    return Unexpected(Library.error());
  auto Session = openSession(**Library, Folder + "/" + std::to_string(Length) + "/model.onnx", Packed);
  if (!Session)
    return Unexpected(Session.error());
  const auto In = std::make_shared<std::vector<float>>(vectorOf(Length));
  const auto Out = std::make_shared<float>();
  auto X = tensorOver(**Library, In->data(), Length);
  auto Y = tensorOver(**Library, Out.get(), 1);
  if (!X || !Y)
    return Unexpected((X ? Y : X).error());
  return [=, In = In, Api = (*Library)->Api, Session = *Session, X = *X, Y = *Y](const std::vector<float> &) -> Expected<float> {
    const char *From = "x", *To = "value";
    const OrtValue *Vector = X.get();
    OrtValue *Number = Y.get();
    if (OrtStatus *Status = Api->Run(Session.get(), nullptr, &From, &Vector, 1, &To, 1, &Number))
      return Unexpected((*Library)->check(Status, "Run").error());
    return *Out;
  };
}

} // namespace mlcb::rtt
