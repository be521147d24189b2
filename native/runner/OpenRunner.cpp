// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runner URIs.
#include "channel/GrpcRendezvous.h"
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

constexpr std::string_view LocalOptions[] = {"serdes", "timeout"};
constexpr const char *Forms = "expected pipe:BASE, shm:PATH, grpc://HOST:PORT, onnx:FOLDER, onnx:MODEL.onnx, aot:POLICY.so or default:";

/// A positive number of seconds, or none.
std::optional<double> readSeconds(std::string_view Text) {
  double Seconds = 0;
  const auto [End, Wrong] = std::from_chars(Text.data(), Text.data() + Text.size(), Seconds);
  const bool Whole = Wrong == std::errc() && End == Text.data() + Text.size();
  return Whole && Seconds > 0 ? std::optional(Seconds) : std::nullopt;
}

/// The learner names the serializer in its Hello; one that a URI names is the only one taken.
Expected<RemoteOptions> optionsOf(const Uri &Where) {
  const bool IsGrpc = Where.Scheme == "grpc";
  if (auto Allowed = Where.allow(IsGrpc ? std::span<const std::string_view>(GrpcOptions) : LocalOptions); !Allowed)
    return Unexpected(Allowed.error());
  RemoteOptions Options;
  if (const auto Name = Where.option("serdes")) {
    auto Found = findSerializer(*Name);
    if (!Found)
      return Where.invalid(Found.error().Message);
    Options.Codec = *Found;
  }
  if (const auto Text = Where.option("timeout")) {
    const auto Seconds = readSeconds(*Text);
    if (!Seconds)
      return Where.invalid("timeout is '" + std::string(*Text) + "', expected a positive number of seconds");
    Options.ConnectSeconds = Options.SendSeconds = Options.IdleSeconds = *Seconds;
  }
  return Options;
}

/// To the learner, by any medium but a pipe.
Expected<std::unique_ptr<Channel>> reach(const Uri &Where, Deadline Until, const InterruptCheck &Interrupted) {
  if (Where.Scheme == "shm")
    return connectShm(std::string(Where.Path), Until, Interrupted);
  auto Place = openGrpc(Where, compilerListens(Where));
  return Place ? (*Place)->connect(Until, Interrupted) : Unexpected(Place.error());
}

Expected<std::unique_ptr<ModelRunner>> openRemote(const Uri &Where, const InterruptCheck &Interrupted) {
  if (Where.Path.empty())
    return Where.invalid(Forms);
  auto Options = optionsOf(Where);
  if (!Options)
    return Unexpected(Options.error());
  Options->Interrupted = Interrupted;
  const Deadline Until = after(Options->ConnectSeconds);
  if (Where.Scheme == "pipe")
    return RemoteRunner::connect(std::string(Where.Path), std::move(*Options), Until);
  auto Link = reach(Where, Until, Interrupted);
  return Link ? RemoteRunner::accept(std::move(*Link), std::move(*Options), Until) : Unexpected(Link.error());
}

/// The path of a policy, whose URI has no other options.
Expected<std::string> pathOf(const Uri &Where, std::span<const std::string_view> Options) {
  if (Where.Path.empty())
    return Where.invalid(Forms);
  return Where.allow(Options).map([&] { return std::string(Where.Path); });
}

Expected<std::unique_ptr<ModelRunner>> openAot(const Uri &Where, const InterruptCheck &) { return pathOf(Where, {}).and_then(AotRunner::open); }

/// A policy's own operators are code, which runs only where the URI trusts it.
Expected<std::unique_ptr<ModelRunner>> openOnnx(const Uri &Where, const InterruptCheck &) {
  constexpr std::string_view Options[] = {"trust"};
  const auto Trusted = Where.option("trust");
  if (Trusted && *Trusted != "code")
    return Where.invalid("trust is '" + std::string(*Trusted) + "', expected code");
  return pathOf(Where, Options).and_then([&](const std::string &Path) { return OnnxRunner::open(Path, Trusted.has_value()); });
}

Expected<std::unique_ptr<ModelRunner>> openDefault(std::string_view) { return std::make_unique<DefaultRunner>(); }

const RunnerRegistration Own[] = {
    {"pipe", openRemote}, {"shm", openRemote}, {"grpc", openRemote}, {"onnx", openOnnx}, {"aot", openAot}, {"default", openDefault},
};

} // namespace

constinit const RunnerRegistration *RunnerRegistration::Head = nullptr;

const RunnerRegistration *RunnerRegistration::find(std::string_view Scheme) {
  for (const RunnerRegistration *One = Head; One; One = One->Next)
    if (One->Scheme == Scheme)
      return One;
  return nullptr;
}

Expected<std::unique_ptr<ModelRunner>> RunnerRegistration::open(const Uri &Where, const InterruptCheck &Interrupted) const {
  if (Waiting)
    return Waiting(Where, Interrupted);
  return Simple(Where.Text.substr(std::min(Where.Text.size(), Where.Scheme.size() + 1)));
}

Expected<std::unique_ptr<ModelRunner>> openRunner(std::string_view Text, const InterruptCheck &Interrupted) {
  const Uri Where = Uri::parse(Text);
  if (const RunnerRegistration *Known = RunnerRegistration::find(Where.Scheme))
    return Known->open(Where, Interrupted);
  return Where.invalid(Where.Path.empty() ? Forms : std::string("unknown scheme, ") + Forms);
}

} // namespace mlcb
