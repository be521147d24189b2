// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "protocol/MlgoLog.h"

#include <cerrno>
#include <fcntl.h>

namespace mlcb {
namespace {

constexpr size_t FlushBytes = 1 << 20;

using Kind = MlgoRecord::Kind;

Expected<FileDescriptor> openFile(const std::string &Path, int Flags) {
  FileDescriptor File(::open(Path.c_str(), Flags | O_CLOEXEC, 0666));
  return File ? Expected<FileDescriptor>(std::move(File)) : failErrno(Path);
}

} // namespace

Expected<MlgoLogReader> MlgoLogReader::open(std::string Path) {
  auto File = openFile(Path, O_RDONLY);
  if (!File)
    return Unexpected(File.error());
  MlgoLogReader Log(std::move(Path), std::move(*File));
  if (auto First = Log.nextRecord(); !First)
    return Unexpected(First.error());
  return Log;
}

Unexpected MlgoLogReader::wrong(const Error &Why) const { return fail(Why.Kind, Path + ": " + Why.Message); }

Expected<std::optional<MlgoRecord>> MlgoLogReader::nextRecord() {
  if (Ahead)
    return std::exchange(Ahead, std::nullopt);
  for (;;) {
    auto Record = Decoder.next();
    if (!Record)
      return wrong(Record.error());
    if (*Record)
      return Record;
    const auto Room = Decoder.room();
    const ssize_t Got = ::read(File.get(), Room.data(), Room.size());
    if (Got < 0 && errno != EINTR)
      return failErrno(Path);
    if (Got > 0)
      Decoder.received(static_cast<size_t>(Got));
    if (Got == 0) {
      auto Whole = Decoder.end();
      return Whole ? Expected<std::optional<MlgoRecord>>(std::nullopt) : wrong(Whole.error());
    }
  }
}

Expected<std::optional<MlgoEntry>> MlgoLogReader::next() {
  for (;;) {
    auto Record = nextRecord();
    if (!Record)
      return Unexpected(Record.error());
    if (!*Record)
      return std::nullopt;
    if ((*Record)->What == Kind::Context)
      Context = std::move((*Record)->Context);
    if ((*Record)->What != Kind::Observation)
      continue;
    MlgoEntry Entry{Context, (*Record)->Number, {}, {}};
    Features.assign((*Record)->Tensors.begin(), (*Record)->Tensors.end());
    Entry.Tensors = Features;
    if (!header().Score)
      return Entry;
    auto Next = nextRecord();
    if (!Next)
      return Unexpected(Next.error());
    if (*Next && (*Next)->What == Kind::Outcome)
      Entry.Score = (*Next)->Tensors;
    else
      Ahead = std::move(*Next);
    return Entry;
  }
}

Expected<MlgoLogWriter> MlgoLogWriter::open(std::string Path, const MlgoHeader &Header) {
  auto File = openFile(Path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!File)
    return Unexpected(File.error());
  return MlgoLogWriter(std::move(Path), std::move(*File), Header);
}

Expected<void> MlgoLogWriter::write(std::string_view In, std::span<const std::span<const std::byte>> Tensors,
                                    std::optional<std::span<const std::byte>> Score) {
  if (!File)
    return fail(ErrorKind::InvalidArgument, Path + " is closed");
  if (Context != In)
    Encoder.context(Context.emplace(In));
  Encoder.observation(Tensors);
  if (Score)
    Encoder.outcome(*Score);
  return Encoder.Out.size() < FlushBytes ? Expected<void>() : flush();
}

Expected<void> MlgoLogWriter::flush() {
  std::string_view Left = Encoder.Out;
  while (!Left.empty()) {
    const ssize_t Written = ::write(File.get(), Left.data(), Left.size());
    if (Written < 0 && errno != EINTR) {
      const auto Why = failErrno(Path);
      File.reset(); // nothing may follow the gap
      return Why;
    }
    Left.remove_prefix(Written < 0 ? 0 : static_cast<size_t>(Written));
  }
  Encoder.Out.clear();
  return {};
}

Expected<void> MlgoLogWriter::close() {
  if (!File)
    return {};
  auto Done = flush();
  File.reset();
  return Done;
}

} // namespace mlcb
