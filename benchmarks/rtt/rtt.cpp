// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler of the round-trip benchmark: asks for vectors of 500 to 50 000 by 500.
//
//   rtt ask URI            any runner; {} in the URI stands for the length
//   rtt repeat URI LENGTH COUNT   the same question so many times
//   rtt floor NAME [DIR]   dot, fifo, shm, grpc, json-dump; onnx-packed or onnx-plain of the models in DIR
//   rtt observation KIND   of PosetRL, over socket, pipe or shm, both ends here
#include "rtt.h"

#include "channel/FdChannel.h"
#include "channel/ShmChannel.h"
#include "protocol/LearnerEnd.h"
#include "runner/RemoteRunner.h"
#include "spec/Tasks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <sys/wait.h>

namespace mlcb::rtt {
namespace {

constexpr size_t Shortest = 500, Longest = 50000, Step = 500;
constexpr size_t Repeats = 9, ObservationRepeats = 5000;

/// Evenly spread over [-0.5, 0.5), without order.
float noise(uint32_t Seed) { return static_cast<float>(Seed * 2654435761U >> 8 & 0xFFFF) / 65536 - 0.5F; }

std::vector<float> noiseOf(size_t Length, uint32_t Seed) {
  std::vector<float> Result(Length);
  for (size_t I = 0; I < Length; ++I)
    Result[I] = noise(static_cast<uint32_t>(I) + Seed);
  return Result;
}

/// The median seconds of a question.
template <class Fn> Expected<double> medianSeconds(size_t Times, Fn Ask) {
  std::vector<double> Seconds;
  for (size_t Time = 0; Time < Times; ++Time) {
    const auto Start = std::chrono::steady_clock::now();
    if (auto Answer = Ask(); !Answer)
      return Unexpected(Answer.error());
    Seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - Start).count());
  }
  std::ranges::nth_element(Seconds, Seconds.begin() + static_cast<ptrdiff_t>(Times / 2));
  return Seconds[Times / 2];
}

Expected<Model> openModel(std::string Uri, size_t Length) {
  if (const size_t Hole = Uri.find("{}"); Hole != Uri.npos)
    Uri.replace(Hole, 2, std::to_string(Length));
  auto Opened = openRunner(Uri);
  if (!Opened)
    return Unexpected(Opened.error());
  const std::shared_ptr<ModelRunner> Runner = std::move(*Opened);
  auto Spec = bindTask(*findTask("regression"), Runner->parameters());
  if (!Spec)
    return Unexpected(Spec.error());
  if (auto Bound = Runner->bind(std::move(*Spec)); !Bound)
    return Unexpected(Bound.error());
  std::ranges::copy(vectorOf(Length), Runner->tensor<float>(regression::model::x).begin());
  return [Runner](const std::vector<float> &) { return Runner->evaluate<float>(); };
}

Expected<void> repeat(const std::string &Uri, size_t Length, size_t Count) {
  auto Ask = openModel(Uri, Length);
  for (size_t Time = 0; Ask && Time < Count; ++Time)
    if (auto Answer = (*Ask)({}); !Answer)
      return Unexpected(Answer.error());
  return Ask.map([](const Model &) {});
}

struct Link {
  std::unique_ptr<Channel> Compiler, Learner;
};

Expected<Link> connect(std::string_view Kind) {
  auto Sockets = socketPair();
  if (!Sockets)
    return Unexpected(Sockets.error());
  auto First = socketChannel(std::move(Sockets->first)), Second = socketChannel(std::move(Sockets->second));
  if (Kind == "socket")
    return Link{std::move(First), std::move(Second)};
  if (Kind == "pipe") {
    int Up[2], Down[2];
    if (::pipe2(Up, O_CLOEXEC) != 0 || ::pipe2(Down, O_CLOEXEC) != 0)
      return failErrno("pipe2");
    return Link{pipeChannel(FileDescriptor(Down[0]), FileDescriptor(Up[1])), pipeChannel(FileDescriptor(Up[0]), FileDescriptor(Down[1]))};
  }
  auto Shared = makeRings().and_then(mapRings);
  if (!Shared)
    return Unexpected(Shared.error());
  Rings &Both = **Shared;
  return Link{shmChannel(*Shared, Both.ToCompiler, Both.ToLearner, std::move(First)),
              shmChannel(*Shared, Both.ToLearner, Both.ToCompiler, std::move(Second))};
}

/// A learner that says 0 to everything, until the compiler goes.
void learn(std::unique_ptr<Channel> Over, const BoundSpec &Spec) {
  auto End = LearnerEnd::ofEpisode(std::move(Over), Spec, {"size"});
  while (auto Got = End->receive(after(60)))
    if (Got->Kind == FrameKind::Observation)
      (void)End->advise(int64_t(0), after(60));
}

Expected<void> timeObservation(std::string_view Kind) {
  auto Spec = bindTask(*findTask("posetrl"), R"({"actions": ["a", "stop"]})");
  auto Pair = connect(Kind);
  if (!Spec || !Pair)
    return Unexpected((Spec ? Pair.error() : Spec.error()));
  const pid_t Pid = ::fork();
  if (Pid == 0) {
    Pair->Compiler.reset();
    learn(std::move(Pair->Learner), *Spec);
    ::_exit(0);
  }
  Pair->Learner.reset();
  auto Seconds = [&]() -> Expected<double> {
    RemoteOptions Options;
    Options.Greets = RemoteOptions::Greeting::Begin;
    Options.Metrics = {"size"};
    RemoteRunner Runner(std::move(Pair->Compiler), std::move(Options));
    if (auto Bound = Runner.bind(*Spec); !Bound)
      return Unexpected(Bound.error());
    std::ranges::fill(Runner.tensor<int8_t>(posetrl::orderer::action_mask), 1);
    return medianSeconds(ObservationRepeats, [&] { return Runner.evaluate<int64_t>(); });
  }();
  ::waitpid(Pid, nullptr, 0);
  return Seconds.map([](double S) { std::printf("0 %.9g 0\n", S); });
}

Expected<void> run(const std::vector<std::string> &Words) {
  const std::string What = Words.size() > 1 ? Words[0] : "", Name = Words.size() > 1 ? Words[1] : "";
  if (What == "ask")
    return timeAll([&](size_t Length) { return openModel(Name, Length); });
  if (What == "repeat" && Words.size() == 4)
    return repeat(Name, std::strtoul(Words[2].c_str(), nullptr, 10), std::strtoul(Words[3].c_str(), nullptr, 10));
  if (What == "observation")
    return timeObservation(Name);
  if (Name.starts_with("onnx-") && Words.size() > 2)
    return timeAll([&](size_t Length) { return onnxFloor(Words[2], Name == "onnx-packed", Length); });
  for (const auto &[Floor, Make] :
       {std::pair("dot", &dotFloor), {"fifo", &fifoFloor}, {"shm", &shmFloor}, {"grpc", &grpcFloor}, {"json-dump", &jsonDump}})
    if (Name == Floor)
      return timeAll(Make);
  return fail(ErrorKind::InvalidArgument, "usage: rtt ask URI | repeat URI LENGTH COUNT | floor NAME [DIR] | observation KIND");
}

} // namespace

std::vector<float> vectorOf(size_t Length) { return noiseOf(Length, static_cast<uint32_t>(Length)); }
std::vector<float> weightsOf(size_t Length) { return noiseOf(Length, 1000000); }

Expected<void> timeAll(const std::function<Expected<Model>(size_t)> &MakeModel) {
  for (size_t Length = Shortest; Length <= Longest; Length += Step) {
    auto Ask = MakeModel(Length);
    if (!Ask)
      return Unexpected(Ask.error());
    const auto Vector = vectorOf(Length);
    const auto Answer = (*Ask)(Vector);
    auto Seconds = medianSeconds(Repeats, [&] { return (*Ask)(Vector); });
    if (!Answer || !Seconds)
      return Unexpected(Answer ? Seconds.error() : Answer.error());
    std::printf("%zu %.9g %.9g\n", Length, *Seconds, static_cast<double>(*Answer));
  }
  return {};
}

} // namespace mlcb::rtt

int main(int Count, char **Words) {
  const auto Done = mlcb::rtt::run({Words + 1, Words + Count});
  if (!Done)
    std::cerr << "rtt: " << Done.error().Message << '\n';
  return Done ? 0 : 1;
}
