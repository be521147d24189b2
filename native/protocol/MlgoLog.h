// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files in LLVM's format: what its advisors, or ours, saw, decided and earned.
#pragma once

#include "protocol/Mlgo.h"
#include "spec/FileDescriptor.h"

namespace mlcb {

/// The observation before one decision, the decision, and its reward. Views are valid until the next one is read.
struct MlgoEntry {
  std::string_view Context;
  int64_t Number;
  std::span<const std::byte> Tensors;              // the features, one after another
  std::optional<std::span<const std::byte>> Score; // where an outcome follows
};

/// Every error names the file, and the position where it is the content that is wrong.
class MlgoLogReader {
public:
  static Expected<MlgoLogReader> open(std::string Path);

  const MlgoHeader &header() const { return Decoder.header(); }

  /// None at the end of the file.
  Expected<std::optional<MlgoEntry>> next();

private:
  MlgoLogReader(std::string Path, FileDescriptor File) : Path(std::move(Path)), File(std::move(File)) {}

  Expected<std::optional<MlgoRecord>> nextRecord();
  Unexpected wrong(const Error &Why) const;

  std::string Path;
  FileDescriptor File;
  MlgoDecoder Decoder;
  std::string Context;
  std::vector<std::byte> Features; // of the entry, while its outcome is read
  std::optional<MlgoRecord> Ahead; // read, and not part of the last entry
};

/// Written in large pieces; what was written before an error, or the end of the process, can be read.
class MlgoLogWriter {
public:
  /// Replaces a file that is there.
  static Expected<MlgoLogWriter> open(std::string Path, const MlgoHeader &Header);

  /// Tensors: each of the header's features. Score: where it declares one.
  Expected<void> write(std::string_view Context, std::span<const std::span<const std::byte>> Tensors,
                       std::optional<std::span<const std::byte>> Score);

  /// The error of a full disk comes here at the latest. Harmless if closed already.
  Expected<void> close();

private:
  MlgoLogWriter(std::string Path, FileDescriptor File, const MlgoHeader &Header) : Path(std::move(Path)), File(std::move(File)), Encoder(Header) {}

  Expected<void> flush();

  std::string Path;
  FileDescriptor File;
  MlgoEncoder Encoder;
  std::optional<std::string> Context;
};

} // namespace mlcb
