// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/Messages.h"

#include "spec/Json.h"

namespace mlcb {
namespace {

constexpr std::string_view ReasonNames[] = {"horizon", "stopped", "no_decisions", "exhausted"};

Expected<std::vector<std::string>> stringList(const Json &Value) {
  std::vector<std::string> Result;
  if (Value.is_null())
    return Result;
  for (const Json &Item : Value)
    if (const auto *Text = Item.get_ptr<const std::string *>(); Text && Value.is_array())
      Result.push_back(*Text);
    else
      return fail(ErrorKind::ProtocolError, "the metrics are " + shortText(Value) + ", expected a list of names");
  return Result;
}

} // namespace

std::string_view name(EndReason Why) { return ReasonNames[static_cast<size_t>(Why)]; }

std::optional<EndReason> endReason(uint8_t Flags) {
  if (Flags >= std::size(ReasonNames))
    return {};
  return static_cast<EndReason>(Flags);
}

std::string_view name(Measure When) { return When == Measure::End ? "end" : "always"; }

Expected<Measure> readMeasure(std::string_view Word) {
  for (Measure When : {Measure::Always, Measure::End})
    if (Word == name(When))
      return When;
  return fail(ErrorKind::ProtocolError, "measure is " + shortText(Word) + ", expected 'always' or 'end'");
}

std::string Hello::toJson() const {
  return dumpJson({{"task", Task}, {"parameters", parseJson(Parameters)}, {"serializer", Serializer}, {"metrics", Metrics}, {"measure", name(When)}});
}

Expected<Hello> Hello::fromJson(std::string_view Text) {
  const Json Given = parseJson(Text);
  if (!Given.is_object())
    return fail(ErrorKind::ProtocolError, "a Hello whose payload is not a JSON object");
  const Hello Default;
  auto Metrics = stringList(member(Given, "metrics"));
  if (!Metrics)
    return Unexpected(Metrics.error());
  auto When = readMeasure(stringOf(member(Given, "measure"), name(Default.When)));
  if (!When)
    return Unexpected(When.error());
  const Json &Parameters = member(Given, "parameters");
  return Hello{stringOf(member(Given, "task")), Parameters.is_null() ? Default.Parameters : dumpJson(Parameters),
               stringOf(member(Given, "serializer"), Default.Serializer), std::move(*Metrics), *When};
}

} // namespace mlcb
