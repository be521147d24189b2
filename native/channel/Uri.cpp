// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "channel/Uri.h"

namespace mlcb {
namespace {

/// The text before the first Mark, and the text after it.
std::pair<std::string_view, std::string_view> split(std::string_view Text, char Mark) {
  const size_t At = std::min(Text.find(Mark), Text.size());
  return {Text.substr(0, At), Text.substr(std::min(At + 1, Text.size()))};
}

} // namespace

Uri Uri::parse(std::string_view Text) {
  const auto [Scheme, Rest] = split(Text, ':');
  auto [Path, Query] = split(Rest, '?');
  Uri Result{Text, Scheme, Path, {}};
  while (!Query.empty()) {
    const auto [Option, More] = split(Query, '&');
    Result.Options.push_back(split(Option, '='));
    Query = More;
  }
  return Result;
}

std::optional<std::string_view> Uri::option(std::string_view Key) const {
  const auto Found = std::ranges::find(Options, Key, [](const auto &Option) { return Option.first; });
  return Found == Options.end() ? std::nullopt : std::optional(Found->second);
}

Expected<void> Uri::allow(std::span<const std::string_view> Keys) const {
  for (const auto &[Key, Value] : Options) {
    const std::string Given = "'" + std::string(Key) + "=" + std::string(Value) + "'";
    if (Keys.empty())
      return invalid(std::string(Scheme) + " takes no option, got " + Given);
    if (std::ranges::find(Keys, Key) != Keys.end())
      continue;
    std::string Known;
    for (std::string_view One : Keys)
      Known += (Known.empty() ? "" : ", ") + std::string(One) + "=...";
    return invalid("unknown option " + Given + ", expected " + Known);
  }
  return {};
}

Unexpected Uri::invalid(const std::string &Why) const { return fail(ErrorKind::InvalidArgument, "runner '" + std::string(Text) + "': " + Why); }

} // namespace mlcb
