// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Uses the runner and the serializer of this folder: the compiler asks `fixed:3`, then a learner that wants its tensors as YAML.
//   extending BASE   (BASE.in and BASE.out are FIFOs)
#include <mlcb/channel/Fifo.h>
#include <mlcb/protocol/LearnerEnd.h>
#include <mlcb/runner/ModelRunner.h>

#include <algorithm>
#include <cstdio>
#include <thread>

namespace {

using namespace mlcb;

constexpr const char *Task = R"({
  "task": "inline",
  "agents": [{"name": "inliner",
              "inputs": [{"name": "call", "dtype": "float32", "shape": [2]}],
              "advice": {"kind": "argmax", "name": "depth", "choices": 4}}]})";

constexpr float Call[] = {0.1F, 2};

/// The compiler's side.
Expected<int64_t> ask(const std::string &Uri) {
  auto Runner = openRunner(Uri);
  if (!Runner)
    return Unexpected(Runner.error());
  if (auto Bound = (*Runner)->bind(*readSpec(Task)); !Bound)
    return Unexpected(Bound.error());
  std::ranges::copy(Call, (*Runner)->tensor<float>(0).begin());
  return (*Runner)->evaluate<int64_t>();
}

/// The learner's side: advises 1 if the call came over as it was.
Expected<void> learn(const std::string &Base) {
  auto Fifos = Fifo::open(Base, FifoEnd::Learner);
  auto Link = Fifos ? Fifos->connect(after(10)) : Unexpected(Fifos.error());
  if (!Link)
    return Unexpected(Link.error());
  LearnerEnd End(std::move(*Link));
  if (auto Agreed = End.hello({.Task = "", .Serializer = "yaml"}, after(10)); !Agreed)
    return Agreed;
  auto Got = End.receive(after(10));
  if (!Got)
    return Unexpected(Got.error());
  return End.advise(int64_t(std::ranges::equal(Got->Views[0].Bytes, std::as_bytes(std::span(Call)))), after(10));
}

} // namespace

int main(int Count, char **Arguments) {
  if (Count != 2) {
    std::fprintf(stderr, "extending: expected BASE, where BASE.in and BASE.out are FIFOs\n");
    return 2;
  }
  const std::string Base = Arguments[1];
  std::jthread Learner([&] {
    if (auto Learnt = learn(Base); !Learnt)
      std::fprintf(stderr, "extending: the learner: %s\n", Learnt.error().Message.c_str());
  });
  for (const std::string &Uri : {std::string("fixed:3"), "pipe:" + Base + "?serdes=yaml"}) {
    const auto Advice = ask(Uri);
    std::printf("%s: %s\n", Uri.substr(0, Uri.find(':')).c_str(), Advice ? std::to_string(*Advice).c_str() : Advice.error().Message.c_str());
  }
}
