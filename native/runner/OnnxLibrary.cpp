// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxLibrary.h"

#include "spec/OwnFolder.h"

#include <cstdlib>
#include <dlfcn.h>
#include <glob.h>

namespace mlcb {
namespace {

// All that is used here is older; a library of this version or any later one will do.
constexpr uint32_t ApiVersion = 16;

void addMatches(const std::string &Pattern, std::vector<std::string> &To) {
  glob_t Found{};
  if (::glob(Pattern.c_str(), 0, nullptr, &Found) == 0)
    To.insert(To.end(), Found.gl_pathv, Found.gl_pathv + Found.gl_pathc);
  ::globfree(&Found);
}

Expected<const OrtApi *> openApi() {
  std::string LastError;
  for (const std::string &Path : OnnxLibrary::candidates()) {
    void *Library = dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto *Base = Library ? reinterpret_cast<const OrtApiBase *(*)()>(dlsym(Library, "OrtGetApiBase")) : nullptr;
    if (const char *Why = dlerror(); Why && !Base)
      LastError = Why;
    if (!Base)
      continue;
    if (const OrtApi *Api = Base()->GetApi(ApiVersion))
      return Api;
    LastError = Path + " is too old";
  }
  return fail(ErrorKind::SystemError, "ONNX Runtime is needed for this policy: pip install onnxruntime, or name its "
                                      "shared library in MLCB_ONNXRUNTIME (" +
                                          LastError + ")");
}

Expected<OnnxLibrary> open() {
  auto Api = openApi();
  if (!Api)
    return Unexpected(Api.error());
  OnnxLibrary Library;
  Library.Api = *Api;
  // Its builds for Linux keep a database in the user's cache and start a thread for telemetry, of every compile: tens of milliseconds.
  // Who wants it sets the variable to 0.
  ::setenv("ORT_DISABLE_TELEMETRY", "1", /*overwrite=*/0);
  // What fails is told by its status; the log would write names of the model to the terminal as they are.
  if (auto Done = Library.check((*Api)->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "mlcb", &Library.Env), "ONNX Runtime"); !Done)
    return Unexpected(Done.error());
  auto Done = Library.check((*Api)->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &Library.Cpu), "ONNX Runtime");
  if (!Done)
    return Unexpected(Done.error());
  return Library;
}

} // namespace

static std::vector<std::string> findCandidates() {
  if (const char *Named = std::getenv("MLCB_ONNXRUNTIME"); Named && *Named)
    return {Named};
  std::vector<std::string> Paths;
  // Beside the package.
  for (const char *Up : {"/..", "/../.."})
    addMatches(ownFolder() + Up + "/onnxruntime/capi/libonnxruntime.so.*", Paths);
  if (*MLCB_ONNXRUNTIME_LIBRARY)
    Paths.emplace_back(MLCB_ONNXRUNTIME_LIBRARY);
  Paths.emplace_back("libonnxruntime.so.1");
  return Paths;
}

const std::vector<std::string> &OnnxLibrary::candidates() {
  static const std::vector<std::string> Found = findCandidates();
  return Found;
}

Expected<const OnnxLibrary *> OnnxLibrary::get() {
  static const Expected<OnnxLibrary> Library = open();
  if (!Library)
    return Unexpected(Library.error());
  return &*Library;
}

Expected<void> OnnxLibrary::check(OrtStatus *Status, const std::string &What) const {
  if (!Status)
    return {};
  const OrtOwned<OrtStatus> Owned(Status, Api->ReleaseStatus);
  const std::string Text = Api->GetErrorMessage(Status);
  return fail(ErrorKind::InvalidArgument, What + ": " + Text.substr(0, Text.find('\n')));
}

} // namespace mlcb
