// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes in LLVM's format: they are refused, or the records are kept when written and read again; and a compiler that sends them is
// heard to its end.
#include "../native/Pieces.h"
#include "channel/FdChannel.h"
#include "protocol/MlgoEnd.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace mlcb {
namespace {

struct Log {
  std::optional<MlgoHeader> Header;
  std::vector<MlgoRecord> Records;
  std::vector<std::vector<std::byte>> Tensors; // of each record
};

/// In pieces of that length.
std::optional<Log> read(std::span<const std::byte> In, size_t Piece) {
  MlgoDecoder Decoder;
  Log Result;
  const auto Ended = test::takePieces(Decoder, In, Piece, [&](MlgoRecord Next) {
    Result.Tensors.emplace_back(Next.Tensors.begin(), Next.Tensors.end());
    Result.Records.push_back(std::move(Next));
  });
  if (!Ended)
    return {};
  Result.Header = Decoder.header();
  return Result;
}

std::string write(const Log &Read) {
  MlgoEncoder To(*Read.Header);
  To.context("");
  for (size_t I = 0; I < Read.Records.size(); ++I) {
    const std::span<const std::byte> Tensors = Read.Tensors[I];
    if (Read.Records[I].What == MlgoRecord::Kind::Context)
      To.context(Read.Records[I].Context);
    if (Read.Records[I].What == MlgoRecord::Kind::Observation)
      To.observation(std::span(&Tensors, 1));
    if (Read.Records[I].What == MlgoRecord::Kind::Outcome)
      To.outcome(Tensors);
  }
  return To.Out;
}

void keepsRecords(std::span<const std::byte> In, size_t Piece) {
  const auto First = read(In, Piece);
  if (!First)
    return;
  const std::string Written = write(*First);
  const auto Second = read(std::as_bytes(std::span(Written)), 1 << 20);
  if (!Second || Second->Header->toJson() != First->Header->toJson())
    std::abort();
  const auto IsData = [](const auto &Tensors) { return !Tensors.empty(); };
  std::vector<std::vector<std::byte>> A, B;
  std::ranges::copy_if(First->Tensors, std::back_inserter(A), IsData);
  std::ranges::copy_if(Second->Tensors, std::back_inserter(B), IsData);
  if (A != B)
    std::abort();
}

const BoundSpec &task() {
  static const BoundSpec Task = readSpec(R"({"task": "t", "agents": [{"name": "a", "inputs": [
    {"name": "m", "dtype": "int8", "shape": [2], "role": "mask"}, {"name": "x", "dtype": "int64"}, {"name": "f", "dtype": "float32", "shape": [2]}],
    "advice": {"kind": "argmax", "name": "c", "choices": 2}}]})")
                                    .value();
  return Task;
}

/// An error is the last word.
void saysItAgain(MlgoEnd &End, const Error &First) {
  const auto Ready = End.readable(after(1));
  const auto Again = End.receive(after(1));
  if (!Ready || Again || Again.error().Message != First.Message)
    std::abort();
}

void hears(std::span<const std::byte> In) {
  auto Pair = socketPair();
  if (!Pair || ::write(Pair->second.get(), In.data(), In.size()) != static_cast<ssize_t>(In.size()))
    std::abort();
  ::shutdown(Pair->second.get(), SHUT_WR);
  MlgoEnd End(socketChannel(std::move(Pair->first)), task());
  for (;;) {
    const auto Got = End.receive(after(1));
    if (!Got)
      saysItAgain(End, Got.error());
    if (!Got || Got->Kind == FrameKind::Bye)
      break;
    (void)End.advise(int64_t(1), after(1));
  }
}

} // namespace
} // namespace mlcb

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  const auto In = std::as_bytes(std::span(Data, Size));
  mlcb::keepsRecords(In, Size ? 1 + Data[Size - 1] : 1);
  mlcb::hears(In);
  return 0;
}
