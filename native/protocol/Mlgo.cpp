// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/Mlgo.h"

#include "spec/Json.h"

#include <algorithm>
#include <cstring>

namespace mlcb {
namespace {

constexpr size_t FirstBuffer = 16 << 10;
constexpr size_t MaxLine = 1 << 20;

std::optional<int64_t> count(const Json &Value) {
  if (!Value.is_number_integer() || Value < 0)
    return {};
  return Value.get<int64_t>();
}

using Record = std::optional<MlgoRecord>;

} // namespace

std::span<std::byte> MlgoDecoder::room() {
  if (Start > 0) {
    std::memmove(Buffer.data(), Buffer.data() + Start, Filled - Start);
    Before += Start;
    Filled -= Start;
    Start = 0;
  }
  // It grows with what arrives, not with what a header promises.
  if (Filled == Buffer.size())
    Buffer.resize(std::max(FirstBuffer, 2 * Buffer.size()));
  return std::span(Buffer).subspan(Filled);
}

Unexpected MlgoDecoder::malformed(const std::string &What) const {
  return fail(ErrorKind::ProtocolError, "at byte " + std::to_string(Before + Start) + ": " + What);
}

Expected<Record> MlgoDecoder::next() {
  if (!Begun)
    if (auto Line = readLine(); !Line || *Line || !Begun)
      return Line;
  return readTensors();
}

Expected<void> MlgoDecoder::end() const {
  if (Begun || Filled > Start)
    return malformed("the end comes in the middle of a record");
  if (!Header)
    return malformed("the end comes before the declaration of features");
  return {};
}

/// A record that is one line; none where its end has not come, or tensors follow it.
Expected<Record> MlgoDecoder::readLine() {
  const auto Fresh = std::span(Buffer).first(Filled).subspan(Start + Scanned);
  const auto *End = static_cast<const std::byte *>(Fresh.empty() ? nullptr : std::memchr(Fresh.data(), '\n', Fresh.size()));
  const size_t Length = Scanned + (End ? static_cast<size_t>(End - Fresh.data()) : Fresh.size());
  if (Length > MaxLine)
    return malformed("a line of more than " + std::to_string(MaxLine) + " bytes");
  Scanned = End ? 0 : Length;
  if (!End)
    return std::nullopt;
  auto Parsed = parseLine({reinterpret_cast<const char *>(Buffer.data() + Start), Length});
  if (!Parsed)
    return Unexpected(Parsed.error());
  Start += Length + 1;
  if (Parsed->What != MlgoRecord::Kind::Observation && Parsed->What != MlgoRecord::Kind::Outcome)
    return std::move(*Parsed);
  Begun = std::move(*Parsed);
  return std::nullopt;
}

Expected<MlgoRecord> MlgoDecoder::parseLine(std::string_view Line) {
  using Kind = MlgoRecord::Kind;
  const Json Parsed = parseJson(Line);
  const bool Declares = member(Parsed, "features").is_array();
  if (!Header || Declares) {
    auto Read = readMlgoHeader(Line);
    if (!Read)
      return malformed(Read.error().Message);
    if (Header && Header->toJson() != Read->toJson()) // the next compiler of a command that starts several
      return malformed("the features are declared again, and otherwise");
    Header = std::move(*Read);
    return MlgoRecord{Kind::Header, {}, 0, {}};
  }
  if (const auto *Name = member(Parsed, "context").get_ptr<const std::string *>())
    return MlgoRecord{Kind::Context, *Name, 0, {}};
  if (const auto Number = count(member(Parsed, "observation"))) {
    Unscored = Number;
    return MlgoRecord{Kind::Observation, {}, *Number, {}};
  }
  const auto Number = count(member(Parsed, "outcome"));
  if (!Number)
    return malformed("expected a context, an observation or an outcome, not " +
                     (Parsed.is_discarded() ? "a line that is no JSON" : shortText(Parsed)));
  if (!Header->Score)
    return malformed("an outcome, where the first line declares no score");
  if (std::exchange(Unscored, std::nullopt) != Number)
    return malformed("the outcome of observation " + std::to_string(*Number) + ", which does not come before it");
  return MlgoRecord{Kind::Outcome, {}, *Number, {}};
}

/// The tensors of the record that has begun, and the end of their line.
Expected<Record> MlgoDecoder::readTensors() {
  const bool Scores = Begun->What == MlgoRecord::Kind::Outcome;
  const size_t Size = packedSize(Scores ? std::span(&*Header->Score, 1) : std::span(std::as_const(Header->Features)));
  if (Filled - Start < Size + 1)
    return std::nullopt;
  const auto Tensors = std::span(std::as_const(Buffer)).subspan(Start, Size);
  if (Buffer[Start + Size] != std::byte{'\n'})
    return malformed("tensors that do not end after " + std::to_string(Size) + " bytes, as declared");
  Start += Size + 1;
  Record Read = std::exchange(Begun, std::nullopt);
  Read->Tensors = Tensors;
  return Read;
}

MlgoEncoder::MlgoEncoder(const MlgoHeader &Header) : Out(Header.toJson() + "\n") {}

void MlgoEncoder::context(std::string_view Name) {
  Out += "{\"context\":" + dumpJson(Name) + "}\n";
  Current = Counts.try_emplace(std::string(Name), 0).first;
}

void MlgoEncoder::observation(std::span<const std::span<const std::byte>> Tensors) {
  Out += "{\"observation\":" + std::to_string(Current->second++) + "}\n";
  for (const auto Tensor : Tensors)
    raw(Tensor);
  Out += '\n';
}

void MlgoEncoder::outcome(std::span<const std::byte> Score) {
  Out += "{\"outcome\":" + std::to_string(Current->second - 1) + "}\n";
  raw(Score);
  Out += '\n';
}

void MlgoEncoder::raw(std::span<const std::byte> Bytes) { Out.append(reinterpret_cast<const char *>(Bytes.data()), Bytes.size()); }

} // namespace mlcb
