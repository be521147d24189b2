// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compiler's end for Python: any runner, fed from dictionaries. For scripted compilers and for parity checks.
#include "python/Arrays.h"
#include "python/Bindings.h"
#include "python/Sockets.h"
#include "python/Turn.h"
#include "runner/RemoteRunner.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcb::python {
namespace {

/// As fork(); what Python runs after it may set another errno.
Expected<pid_t> forkPython() {
  int Why = 0;
  const pid_t Pid = [&] {
    nb::gil_scoped_acquire Held;
    PyOS_BeforeFork();
    const pid_t Forked = ::fork();
    Why = errno;
    if (Forked == 0)
      PyOS_AfterFork_Child();
    else
      PyOS_AfterFork_Parent();
    return Forked;
  }();
  errno = Why;
  return Pid < 0 ? failErrno("fork") : Expected<pid_t>(Pid);
}

size_t indexOf(std::span<const TensorSpec> Specs, nb::handle Key) {
  const auto Name = nb::cast<std::string>(Key);
  auto Found = std::ranges::find(Specs, std::string_view(Name), &TensorSpec::Name);
  if (Found == Specs.end())
    raise({ErrorKind::InvalidArgument, "the task declares no '" + Name + "' here"});
  return static_cast<size_t>(Found - Specs.begin());
}

class Compiler {
public:
  explicit Compiler(std::unique_ptr<ModelRunner> Runner) : Runner(std::move(Runner)) {}

  static Compiler ofSocket(int Fd, const std::string &Spec, std::vector<std::string> Metrics, const std::string &Greeting, bool AllowFork,
                           const std::string &When, const std::string &Serializer) {
    if (Greeting != "begin" && Greeting != "hello")
      raise({ErrorKind::InvalidArgument, "greeting is '" + Greeting + "', expected 'begin' or 'hello'"});
    auto Link = adoptSocket(Fd);
    Link->onWait(signalRaised);
    RemoteOptions Options;
    Options.Greets = Greeting == "begin" ? RemoteOptions::Greeting::Begin : RemoteOptions::Greeting::Hello;
    Options.Metrics = std::move(Metrics);
    Options.When = unwrap(readMeasure(When));
    Options.Codec = unwrap(findSerializer(Serializer));
    if (AllowFork)
      Options.Fork = forkPython;
    Compiler Result(std::make_unique<RemoteRunner>(std::move(Link), std::move(Options)));
    Result.bind(unwrap(readSpec(Spec)));
    return Result;
  }

  static Compiler open(const std::string &Uri, const std::optional<std::string> &Spec) {
    Compiler Result(waiting([&] { return openRunner(Uri, signalRaised); }));
    if (Spec) {
      Result.bind(unwrap(readSpec(*Spec)));
      return Result;
    }
    const std::string Task(Result.Runner->task());
    const TaskSpec *Found = findTask(Task);
    if (!Found)
      raise({ErrorKind::InvalidArgument, "runner '" + Uri + "' asks for task '" + Task + "', which this build lacks"});
    Result.bind(unwrap(bindTask(*Found, Result.Runner->parameters())));
    return Result;
  }

  std::string spec() const { return held()->spec().toJson(); }

  nb::object observe(size_t Agent, nb::dict Tensors, nb::dict Metrics) {
    const Released Mine(held());
    const Turn Ours(Taken);
    fill(*Mine, Agent, Tensors, Metrics);
    if (agent(*Mine, Agent).Advice.Kind == AdviceKind::Value)
      return nb::float_(waiting([&] { return Mine->evaluate<double>(Agent); }));
    return nb::int_(waiting([&] { return Mine->evaluate<int64_t>(Agent); }));
  }

  void end(const std::string &Reason, size_t Agent, nb::dict Tensors, nb::dict Metrics) {
    const Released Mine(held());
    const Turn Ours(Taken);
    fill(*Mine, Agent, Tensors, Metrics);
    for (uint8_t Flags = 0; auto Why = endReason(Flags); ++Flags)
      if (name(*Why) == Reason)
        return waiting([&] { return Mine->end(*Why, Agent); });
    raise({ErrorKind::InvalidArgument, "unknown reason '" + Reason + "'"});
  }

  void close() { const Released Last(std::move(Runner)); }

private:
  void bind(BoundSpec Spec) {
    waiting([&] { return Runner->bind(std::move(Spec)); });
  }

  /// For the length of a call: another thread may close, and so may Python code that a value runs.
  std::shared_ptr<ModelRunner> held() const {
    if (!Runner)
      raise({ErrorKind::PeerGone, "the channel is closed"});
    return Runner;
  }

  static const AgentSpec &agent(const ModelRunner &Of, size_t Agent) {
    if (Agent >= Of.spec().Task.Agents.size())
      raise({ErrorKind::InvalidArgument, "there is no agent " + std::to_string(Agent)});
    return Of.spec().Task.Agents[Agent];
  }

  static void fill(ModelRunner &Into, size_t Agent, nb::dict Tensors, nb::dict Metrics) {
    const auto &Inputs = agent(Into, Agent).Inputs;
    for (auto [Key, Value] : Tensors)
      fillInput(Into, Agent, indexOf(Inputs, Key), Value);
    const auto &Declared = Into.spec().Task.Metrics;
    for (auto [Key, Value] : Metrics) {
      const size_t Index = indexOf(Declared, Key);
      copy(Given(Declared[Index], Value).view(), Into.metricBytes(Index));
    }
  }

  static void fillInput(ModelRunner &Into, size_t Agent, size_t Index, nb::handle Value) {
    const TensorSpec &Spec = agent(Into, Agent).Inputs[Index];
    const Given From(Spec, Value);
    if (Spec.Type == DType::String)
      Into.text(Index, Agent).resize(From.view().Bytes.size());
    else
      Into.resize(Index, From.view().Shape, Agent);
    copy(From.view(), Into.bytes(Index, Agent));
  }

  static void copy(const TensorView &From, std::span<std::byte> To) { std::ranges::copy(From.Bytes, To.begin()); }

  std::shared_ptr<ModelRunner> Runner;
  bool Taken = false;
};

} // namespace

void bindCompiler(nb::module_ &Module) {
  nb::class_<Compiler>(Module, "Compiler", "The compiler's end: shows a policy a state and gets its advice.")
      .def_static("serve", &Compiler::ofSocket, "fd"_a, "spec"_a, "metrics"_a = std::vector<std::string>(), "greeting"_a = "begin",
                  "allow_fork"_a = false, "measure"_a = "always", "serializer"_a = "bitstream",
                  "Over a Unix socket, which it takes over, to a LearnerEnd of the same bound spec (JSON), metrics, measure and "
                  "serializer; greets it with its pid ('begin') or the spec ('hello'). With allow_fork a Fork frame clones this process: "
                  "observe() then returns in the clone too.")
      .def_static("open", &Compiler::open, "uri"_a, "spec"_a = nb::none(),
                  "The runner of a URI, bound to a task that its JSON declares, or else as the policy or learner asks.")
      .def_prop_ro("spec", &Compiler::spec, "The bound spec as JSON.")
      .def("observe", &Compiler::observe, "agent"_a, "tensors"_a, "metrics"_a = nb::dict(),
           "The advice for a state; a tensor or metric that is not given keeps its value.",
           nb::sig("def observe(self, agent: int, tensors: dict[str, typing.Any], metrics: dict[str, int | float] = {}) -> "
                   "int | float"))
      .def("end", &Compiler::end, "reason"_a, "agent"_a, "tensors"_a, "metrics"_a = nb::dict(), "The end of the episode and its last state.",
           nb::sig("def end(self, reason: str, agent: int, tensors: dict[str, typing.Any], metrics: dict[str, int | float] "
                   "= {}) -> None"))
      .def("close", &Compiler::close, "Says bye and closes; harmless if closed already.")
      .def(
          "__enter__", [](nb::object Self) { return Self; }, nb::sig("def __enter__(self) -> Compiler"))
      .def("__exit__", [](Compiler &Self, nb::args) { Self.close(); }, nb::sig("def __exit__(self, *args: object) -> None"));
}

} // namespace mlcb::python
