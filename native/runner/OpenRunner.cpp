// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runner URIs.
#include "channel/ShmRendezvous.h"
#include "runner/DefaultRunner.h"
#include "runner/OnnxRunner.h"
#include "runner/RemoteRunner.h"

namespace mlcb {
namespace {

constexpr double ConnectSeconds = 60;

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

/// The learner names the serializer in its Hello; a URI that names another one is refused early.
Expected<void> checkQuery(std::string_view Text, std::string_view Query) {
  constexpr std::string_view Key = "serdes=";
  if (Query.empty())
    return {};
  if (!Query.starts_with(Key))
    return invalid(Text, "unknown option '" + std::string(Query) + "', expected serdes=NAME");
  if (!findSerializer(Query.substr(Key.size())))
    return invalid(Text, "unknown serializer '" + std::string(Query.substr(Key.size())) + "'");
  return {};
}

Expected<std::unique_ptr<RemoteRunner>> overShm(const std::string &Path, Deadline Until) {
  auto Link = connectShm(Path, Until);
  return Link ? RemoteRunner::hear(std::move(*Link), {}, Until) : Unexpected(Link.error());
}

template <class Runner> Expected<std::unique_ptr<ModelRunner>> upcast(Expected<std::unique_ptr<Runner>> From) {
  if (!From)
    return Unexpected(From.error());
  return std::unique_ptr<ModelRunner>(std::move(*From));
}

} // namespace

Expected<std::unique_ptr<ModelRunner>> openRunner(std::string_view Text) {
  const Uri Where = Uri::parse(Text);
  if (Where.Scheme == "default")
    return std::make_unique<DefaultRunner>();
  if (Where.Path.empty())
    return invalid(Text, "expected pipe:BASE, shm:PATH, onnx:FOLDER or default:");
  if (Where.Scheme == "onnx")
    return upcast(OnnxRunner::open(std::string(Where.Path)));
  const bool IsShm = Where.Scheme == "shm";
  if (!IsShm && Where.Scheme != "pipe")
    return invalid(Text, "unknown scheme, expected pipe:BASE, shm:PATH, onnx:FOLDER or default:");
  if (auto Valid = checkQuery(Text, Where.Query); !Valid)
    return Unexpected(Valid.error());
  const std::string Path(Where.Path);
  const Deadline Until = after(ConnectSeconds);
  return upcast(IsShm ? overShm(Path, Until) : RemoteRunner::connect(Path, {}, Until));
}

} // namespace mlcb
