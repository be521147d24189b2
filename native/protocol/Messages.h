// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The JSON payloads of Hello and Begin, and the reasons of EpisodeEnd.
#pragma once

#include "spec/Error.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace mlcb {

enum class EndReason : uint8_t { Horizon, Stopped, NoDecisions, Exhausted };

/// "horizon", "stopped", "no_decisions", "exhausted".
std::string_view name(EndReason Why);
std::optional<EndReason> endReason(uint8_t Flags);

/// Which frames carry the wanted metrics: every Observation and EpisodeEnd, or the EpisodeEnd alone.
enum class Measure : uint8_t { Always, End };

/// "always", "end".
std::string_view name(Measure When);

/// Of the member `measure` of a payload: "always" where there is none; another word is a ProtocolError.
Expected<Measure> readMeasure(std::string_view Word);

/// The learner's Hello: the task to bind, and with what.
struct Hello {
  std::string Task;
  std::string Parameters = "{}"; // a JSON object
  std::string Serializer = "bitstream";
  std::vector<std::string> Metrics;
  Measure When = Measure::Always;

  std::string toJson() const;
  static Expected<Hello> fromJson(std::string_view Text);
};

} // namespace mlcb
