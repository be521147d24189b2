// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/GrpcModule.h"

#include "spec/FileContents.h"
#include "spec/Module.h"

#include <arpa/inet.h>
#include <cstdlib>
#include <filesystem>

namespace mlcb {
namespace {

constexpr size_t MaxCredential = size_t(1) << 20; // a token or certificates

/// Stands for 127.0.0.1: gRPC would also ask at ::1, where another user of the machine may listen.
constexpr std::string_view LocalName = "localhost";

/// Whether nobody but this machine can be at a host; a name may be anybody's.
bool isLoopback(const std::string &Host) {
  in_addr Four;
  in6_addr Six;
  if (::inet_pton(AF_INET, Host.c_str(), &Four) == 1)
    return ntohl(Four.s_addr) >> 24 == 127;
  return Host == LocalName || (::inet_pton(AF_INET6, Host.c_str(), &Six) == 1 && IN6_IS_ADDR_LOOPBACK(&Six));
}

bool isPort(std::string_view Text) {
  return !Text.empty() && Text.size() <= 5 && std::ranges::all_of(Text, [](char C) { return C >= '0' && C <= '9'; }) &&
         std::stoi(std::string(Text)) <= 65535;
}

Expected<std::string> hostOf(const Uri &Where, std::string_view Address) {
  const size_t Colon = Address.rfind(':');
  std::string_view Host = Address.substr(0, Colon);
  if (Host.starts_with('[') && Host.ends_with(']'))
    Host = Host.substr(1, Host.size() - 2);
  if (!Where.Path.starts_with("//") || Colon == Address.npos || Host.empty() || !isPort(Address.substr(Colon + 1)))
    return Where.invalid("expected grpc://HOST:PORT");
  return std::string(Host);
}

bool isOpenToAll(const std::string &Path) {
  using enum std::filesystem::perms;
  std::error_code Unknown;
  return (std::filesystem::status(Path, Unknown).permissions() & (others_read | others_write)) != none;
}

/// The contents of the file that an option or else a variable names; empty where neither does.
Expected<std::string> contents(const Uri &Where, std::string_view Option, const char *Variable, bool IsSecret) {
  const char *Named = std::getenv(Variable);
  std::string Path(Where.option(Option).value_or(Named ? Named : ""));
  if (Path.empty() && !Where.option(Option))
    return Path;
  auto Text = readFile(Path, MaxCredential);
  if (!Text)
    return Where.invalid(std::string(Option) + " " + Path + " cannot be read: " + Text.error().Message);
  if (Text->empty())
    return Where.invalid(std::string(Option) + " " + Path + " is empty");
  if (IsSecret && isOpenToAll(Path))
    return Where.invalid(std::string(Option) + " " + Path + " can be read or written by every user, expected only by its owner: chmod 600 " + Path);
  return Text;
}

/// The token in a file, which travels in a header.
Expected<void> trimToken(const Uri &Where, std::string &Token) {
  while (!Token.empty() && (Token.back() == '\n' || Token.back() == '\r'))
    Token.pop_back();
  if (Token.empty())
    return Where.invalid("the token is empty, expected one line of printable characters without spaces");
  if (std::ranges::all_of(Token, [](char C) { return C > ' ' && C < 127; }))
    return {};
  return Where.invalid("the token is not one line of printable characters without spaces");
}

Expected<void> readFiles(const Uri &Where, GrpcPlace &Place) {
  constexpr std::string_view Certificate = "BEGIN CERTIFICATE-----";
  struct File {
    std::string &Into;
    std::string_view Option;
    const char *Variable;
    std::string_view Holds; // of PEM
    bool IsSecret;
  };
  for (const File &One :
       {File{Place.Authority, "ca", "MLCB_TLS_CA", Certificate, false}, File{Place.Certificate, "cert", "MLCB_TLS_CERT", Certificate, false},
        File{Place.Key, "key", "MLCB_TLS_KEY", "PRIVATE KEY-----", true}, File{Place.Token, "token", "MLCB_TOKEN_FILE", "", true}}) {
    auto Text = contents(Where, One.Option, One.Variable, One.IsSecret);
    if (!Text)
      return Unexpected(Text.error());
    if (!Text->empty() && Text->find(One.Holds) == Text->npos)
      return Where.invalid(std::string(One.Option) + " has no '" + std::string(One.Holds) + "', expected a file of PEM");
    One.Into = std::move(*Text);
  }
  return Place.Token.empty() ? Expected<void>() : trimToken(Where, Place.Token);
}

Expected<void> check(const Uri &Where, const GrpcPlace &Place) {
  if (Place.Certificate.empty() != Place.Key.empty())
    return Where.invalid("cert and key are given together or not at all");
  if (Place.Loopback || (Place.isEncrypted() && !Place.Token.empty()))
    return {};
  return Where.invalid(std::string("an address that is not loopback needs TLS and a token: ") + (Place.Listens ? "cert=FILE, key=FILE" : "ca=FILE") +
                       " and token=FILE, or " + (Place.Listens ? "MLCB_TLS_CERT, MLCB_TLS_KEY" : "MLCB_TLS_CA") + " and MLCB_TOKEN_FILE");
}

Expected<void> checkServer(const Uri &Where) {
  const std::string_view Server = Where.option("server").value_or("learner");
  if (Server == "compiler" || Server == "learner")
    return {};
  return Where.invalid("server is '" + std::string(Server) + "', expected compiler or learner");
}

Expected<GrpcPlace> readPlace(const Uri &Where, bool Listens) {
  GrpcPlace Place;
  Place.Address = Where.Path.substr(std::min<size_t>(2, Where.Path.size()));
  auto Host = hostOf(Where, Place.Address);
  if (!Host)
    return Unexpected(Host.error());
  Place.Loopback = isLoopback(*Host);
  Place.Listens = Listens;
  auto Checked = readFiles(Where, Place).and_then([&] { return check(Where, Place); });
  if (*Host == LocalName && !Place.isEncrypted())
    Place.Address.replace(0, LocalName.size(), "127.0.0.1");
  return Checked ? Expected<GrpcPlace>(std::move(Place)) : Unexpected(Checked.error());
}

} // namespace

GrpcModule::~GrpcModule() = default;

bool compilerListens(const Uri &Where) { return Where.option("server") == "compiler"; }

Expected<std::unique_ptr<GrpcRendezvous>> openGrpc(const Uri &Where, bool Listens, const GrpcBounds &Bounds) {
  auto Place = Where.allow(GrpcOptions).and_then([&] { return checkServer(Where); }).and_then([&] { return readPlace(Where, Listens); });
  if (!Place)
    return Unexpected(Place.error());
  Place->Bounds = Bounds;
  static const auto Get = findInModule("libmlcb_grpc.so", "mlcbGrpcV2");
  if (!Get)
    return Where.invalid("gRPC is needed: " + Get.error().Message);
  return reinterpret_cast<decltype(&mlcbGrpcV2)>(*Get)()->open(*Place);
}

} // namespace mlcb
