// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runner URIs.
#include "channel/ShmRendezvous.h"
#include "runner/AotRunner.h"
#include "runner/DefaultRunner.h"
#include "runner/OnnxRunner.h"
#include "runner/RemoteRunner.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace mlcb {
namespace {

constexpr const char *Forms = "expected pipe:BASE, shm:PATH, onnx:FOLDER, onnx:MODEL.onnx, aot:POLICY.so or default:";

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

/// A positive number of seconds, or none.
std::optional<double> readSeconds(std::string_view Text) {
  double Seconds = 0;
  const auto [End, Wrong] = std::from_chars(Text.data(), Text.data() + Text.size(), Seconds);
  const bool Whole = Wrong == std::errc() && End == Text.data() + Text.size();
  return Whole && Seconds > 0 ? std::optional(Seconds) : std::nullopt;
}

Expected<void> readOption(std::string_view Option, RemoteOptions &Into) {
  const size_t Equals = Option.find('=');
  const std::string_view Key = Option.substr(0, Equals), Value = Equals == Option.npos ? "" : Option.substr(Equals + 1);
  if (Key == "serdes") {
    auto Found = findSerializer(Value);
    return Found.map([&](const Serializer *Codec) { Into.Codec = Codec; });
  }
  if (Key != "timeout")
    return fail(ErrorKind::InvalidArgument,
                "unknown option '" + std::string(Option) + "', expected serdes=NAME or timeout=SECONDS");
  const auto Seconds = readSeconds(Value);
  if (!Seconds)
    return fail(ErrorKind::InvalidArgument, "timeout is '" + std::string(Value) + "', expected a positive number of seconds");
  Into.ConnectSeconds = Into.SendSeconds = Into.IdleSeconds = *Seconds;
  return {};
}

/// What `serdes=NAME&timeout=SECONDS` says. The learner names the serializer in its Hello; one that a URI names is the only one taken.
Expected<RemoteOptions> optionsOf(std::string_view Text, std::string_view Query) {
  RemoteOptions Options;
  while (!Query.empty()) {
    const std::string_view Option = Query.substr(0, Query.find('&'));
    if (auto Read = readOption(Option, Options); !Read)
      return invalid(Text, Read.error().Message);
    Query.remove_prefix(std::min(Query.size(), Option.size() + 1));
  }
  return Options;
}

Expected<std::unique_ptr<RemoteRunner>> overShm(const std::string &Path, RemoteOptions Options, Deadline Until) {
  auto Link = connectShm(Path, Until, Options.Interrupted);
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

Expected<std::unique_ptr<ModelRunner>> openRunner(std::string_view Text, const InterruptCheck &Interrupted) {
  const Uri Where = Uri::parse(Text);
  if (Where.Scheme == "default")
    return std::make_unique<DefaultRunner>();
  if (const RunnerRegistration::Open Open = RunnerRegistration::find(Where.Scheme))
    return Open(Text.substr(std::min(Text.size(), Where.Scheme.size() + 1)));
  if (Where.Path.empty())
    return invalid(Text, Forms);
  if (Where.Scheme == "onnx" || Where.Scheme == "aot") {
    if (!Where.Query.empty())
      return invalid(Text, std::string(Where.Scheme) + " takes no option, got '" + std::string(Where.Query) + "'");
    const std::string Path(Where.Path);
    return Where.Scheme == "aot" ? upcast(AotRunner::open(Path)) : upcast(OnnxRunner::open(Path));
  }
  const bool IsShm = Where.Scheme == "shm";
  if (!IsShm && Where.Scheme != "pipe")
    return invalid(Text, std::string("unknown scheme, ") + Forms);
  auto Options = optionsOf(Text, Where.Query);
  if (!Options)
    return Unexpected(Options.error());
  Options->Interrupted = Interrupted;
  const std::string Path(Where.Path);
  const Deadline Until = after(Options->ConnectSeconds);
  return upcast(IsShm ? overShm(Path, std::move(*Options), Until) : RemoteRunner::connect(Path, std::move(*Options), Until));
}

} // namespace mlcb
