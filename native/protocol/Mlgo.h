// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's own format of questions, and of the log of them (llvm/Analysis/Utils/TrainingLogger.h): lines of JSON, and raw tensors between.
#pragma once

#include "spec/TaskSpec.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>

namespace mlcb {

/// The tensors that a header line declares; every dimension is fixed.
struct MlgoHeader {
  std::vector<TensorSpec> Features;
  std::optional<TensorSpec> Score;  // of a log: what an observation earned
  std::optional<TensorSpec> Advice; // of a conversation: what answers an observation

  /// The text that the names above are views of, if they were read.
  std::shared_ptr<const void> Text = nullptr;

  /// As LLVM writes it, without the end of the line.
  std::string toJson() const;
};

/// A line that declares no tensors, or more than one question may have, is a ProtocolError.
Expected<MlgoHeader> readMlgoHeader(std::string_view Line);

/// The log of a task's one agent: its inputs and its decision, the last feature, and what each earned as "reward", a float.
/// A tensor that varies has its largest shape. What the format lacks, strings and several agents, is InvalidArgument.
Expected<MlgoHeader> mlgoHeaderOf(const BoundSpec &Spec, bool WithReward);

/// Bytes of some tensors, one after another.
size_t packedSize(std::span<const TensorSpec> Specs);

struct MlgoRecord {
  enum class Kind { Header, Context, Observation, Outcome };
  Kind What;
  std::string Context;                // of Context
  int64_t Number = 0;                 // of Observation and Outcome
  std::span<const std::byte> Tensors; // of Observation: the features, one after another; of Outcome: the score; at any address
};

/// Reads records out of bytes as they come. After an error it is of no more use.
class MlgoDecoder {
public:
  /// Where the next bytes go; the views of the last record end here.
  std::span<std::byte> room();
  void received(size_t Count) { Filled += Count; }

  /// The next record, or none before more has come. What is wrong is a ProtocolError that names its position.
  Expected<std::optional<MlgoRecord>> next();

  /// Nothing more will come: an error where that is in the middle of a record.
  Expected<void> end() const;

  /// That of the first record.
  const MlgoHeader &header() const { return *Header; }

private:
  Expected<std::optional<MlgoRecord>> readLine();
  Expected<MlgoRecord> parseLine(std::string_view Line);
  Expected<std::optional<MlgoRecord>> readTensors();
  Unexpected malformed(const std::string &What) const;

  std::optional<MlgoHeader> Header;
  std::vector<std::byte> Buffer;
  size_t Filled = 0;               // bytes in the buffer
  size_t Start = 0;                // where the next record begins in it
  size_t Scanned = 0;              // bytes of a line that are known to hold no end
  size_t Before = 0;               // bytes that have left the buffer
  std::optional<MlgoRecord> Begun; // whose tensors are to come
  std::optional<int64_t> Unscored; // the observation whose outcome may come
};

/// The records of a log as bytes, each with its end.
class MlgoEncoder {
public:
  explicit MlgoEncoder(const MlgoHeader &Header);
  MlgoEncoder(MlgoEncoder &&) = default;

  /// Where the observations that follow were made; one must come before the first.
  void context(std::string_view Name);

  /// Tensors: each of the header's features, row major. The number counts the observations of the context.
  void observation(std::span<const std::span<const std::byte>> Tensors);

  /// Of the last observation.
  void outcome(std::span<const std::byte> Score);

  /// The bytes written since the last clear.
  std::string Out;

private:
  void raw(std::span<const std::byte> Bytes);

  std::map<std::string, int64_t> Counts; // the observations of each context
  std::map<std::string, int64_t>::iterator Current = Counts.end();
};

} // namespace mlcb
