// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runner URIs.
#include "channel/ShmRendezvous.h"
#include "runner/DefaultRunner.h"
#include "runner/OnnxRunner.h"
#include "runner/RemoteRunner.h"

#include <algorithm>

namespace mlcb {
namespace {

constexpr double ConnectSeconds = 60;
constexpr const char *Forms = "expected pipe:BASE, shm:PATH, onnx:FOLDER, onnx:MODEL.onnx or default:";

/// `scheme:path?key=value`, as far as runners need it.
struct Uri {
  std::string_view Scheme, Path, Query;

  static Uri parse(std::string_view Text) {
    Uri Result;
    const size_t Colon = Text.find(':');
    Result.Scheme = Text.substr(0, Colon);
    std::string_view Rest = Colon == Text.npos ? "" : Text.substr(Colon + 1);
    const size_t Mark = Rest.find('?');
    Result.Path = Rest.substr(0, Mark);
    Result.Query = Mark == Rest.npos ? "" : Rest.substr(Mark + 1);
    return Result;
  }
};

Unexpected invalid(std::string_view Text, const std::string &Why) {
  return fail(ErrorKind::InvalidArgument, "runner '" + std::string(Text) + "': " + Why);
}

/// The learner names the serializer in its Hello; one that a URI names is the only one taken. Null where it names none.
Expected<const Serializer *> serializerOf(std::string_view Text, std::string_view Query) {
  constexpr std::string_view Key = "serdes=";
  if (Query.empty())
    return nullptr;
  if (!Query.starts_with(Key))
    return invalid(Text, "unknown option '" + std::string(Query) + "', expected serdes=NAME");
  auto Found = findSerializer(Query.substr(Key.size()));
  return Found ? Found : invalid(Text, Found.error().Message);
}

Expected<std::unique_ptr<RemoteRunner>> overShm(const std::string &Path, RemoteOptions Options, Deadline Until) {
  auto Link = connectShm(Path, Until);
  return Link ? RemoteRunner::hear(std::move(*Link), std::move(Options), Until) : Unexpected(Link.error());
}

template <class Runner> Expected<std::unique_ptr<ModelRunner>> upcast(Expected<std::unique_ptr<Runner>> From) {
  if (!From)
    return Unexpected(From.error());
  return std::unique_ptr<ModelRunner>(std::move(*From));
}

} // namespace

constinit const RunnerRegistration *RunnerRegistration::Head = nullptr;

RunnerRegistration::Open RunnerRegistration::find(std::string_view Scheme) {
  for (const RunnerRegistration *One = Head; One; One = One->Next)
    if (One->Scheme == Scheme)
      return One->OpenIt;
  return nullptr;
}

Expected<std::unique_ptr<ModelRunner>> openRunner(std::string_view Text) {
  const Uri Where = Uri::parse(Text);
  if (Where.Scheme == "default")
    return std::make_unique<DefaultRunner>();
  if (const RunnerRegistration::Open Open = RunnerRegistration::find(Where.Scheme))
    return Open(Text.substr(std::min(Text.size(), Where.Scheme.size() + 1)));
  if (Where.Path.empty())
    return invalid(Text, Forms);
  if (Where.Scheme == "onnx")
    return Where.Query.empty() ? upcast(OnnxRunner::open(std::string(Where.Path)))
                               : invalid(Text, "onnx takes no option, got '" + std::string(Where.Query) + "'");
  const bool IsShm = Where.Scheme == "shm";
  if (!IsShm && Where.Scheme != "pipe")
    return invalid(Text, std::string("unknown scheme, ") + Forms);
  auto Codec = serializerOf(Text, Where.Query);
  if (!Codec)
    return Unexpected(Codec.error());
  RemoteOptions Options;
  Options.Codec = *Codec;
  const std::string Path(Where.Path);
  const Deadline Until = after(ConnectSeconds);
  return upcast(IsShm ? overShm(Path, std::move(Options), Until) : RemoteRunner::connect(Path, std::move(Options), Until));
}

} // namespace mlcb
