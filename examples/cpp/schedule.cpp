// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler in C++ with two agents: one picks the next instruction to schedule, one says what the whole schedule will cost.
//   schedule URI   (pipe:BASE, shm:PATH, grpc://HOST:PORT, onnx:POLICY or default:)
#include <mlcb/runner/ModelRunner.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace {

constexpr const char *Task = R"({
  "task": "schedule",
  "doc": "In which order the instructions of a block are issued.",
  "agents": [
    {"name": "picker",
     "inputs": [{"name": "latency", "dtype": "float32", "shape": [5], "low": 0, "high": 100, "doc": "cycles of each instruction"},
                {"name": "ready", "dtype": "int8", "shape": [5], "role": "mask"}],
     "advice": {"kind": "argmax", "name": "instruction", "choices": 5}},
    {"name": "judge",
     "inputs": [{"name": "order", "dtype": "int64", "shape": [{"at_most": 5}], "low": 0, "high": 4}],
     "advice": {"kind": "value", "name": "cycles"}}],
  "metrics": [{"name": "length", "dtype": "int64", "doc": "instructions scheduled"}]})";

enum Agent : size_t { Picker, Judge };
enum Picking : size_t { Latency, Ready };
enum Judging : size_t { Order };
enum Metric : size_t { Length };

constexpr std::array<float, 5> Latencies{4, 1, 3, 1, 2};
constexpr std::array<int, 5> NeedsFirst{-1, 0, -1, 2, 3}; // the instruction whose result each one uses

using Schedule = std::vector<int64_t>;

mlcb::Expected<int64_t> pick(mlcb::ModelRunner &Runner, const Schedule &Done) {
  const auto Has = [&](int64_t I) { return std::ranges::find(Done, I) != Done.end(); };
  auto Mask = Runner.tensor<int8_t>(Ready, Picker);
  for (size_t I = 0; I < Mask.size(); ++I)
    Mask[I] = !Has(int64_t(I)) && (NeedsFirst[I] < 0 || Has(NeedsFirst[I]));
  if (!Runner.decides())
    return std::ranges::find(Mask, 1) - Mask.begin();
  std::ranges::copy(Latencies, Runner.tensor<float>(Latency, Picker).begin());
  return Runner.evaluate<int64_t>(Picker);
}

mlcb::Expected<void> run(const char *Uri) {
  auto Runner = mlcb::openRunner(Uri);
  auto Spec = mlcb::readSpec(Task);
  if (!Runner || !Spec)
    return mlcb::Unexpected(Runner ? Spec.error() : Runner.error());
  if (auto Bound = (*Runner)->bind(*Spec); !Bound)
    return Bound;
  Schedule Done;
  while (Done.size() < Latencies.size()) {
    auto Next = pick(**Runner, Done);
    if (!Next)
      return mlcb::Unexpected(Next.error());
    Done.push_back(*Next);
    std::printf("issue %d\n", int(*Next));
  }
  const int64_t Shape[] = {int64_t(Done.size())};
  std::ranges::copy(Done, (*Runner)->resize<int64_t>(Order, Shape, Judge).begin());
  (*Runner)->metric<int64_t>(Length) = Shape[0];
  if (!(*Runner)->decides())
    return {};
  auto Cycles = (*Runner)->evaluate<double>(Judge);
  if (!Cycles)
    return mlcb::Unexpected(Cycles.error());
  std::printf("cycles %g\n", *Cycles);
  return (*Runner)->end(mlcb::EndReason::Horizon, Judge);
}

} // namespace

int main(int Count, char **Arguments) {
  if (auto Done = run(Count > 1 ? Arguments[1] : "default:"); !Done) {
    std::fprintf(stderr, "schedule: %s\n", Done.error().Message.c_str());
    return 1;
  }
}
