// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mlcb.h over ModelRunner: what a C caller gets wrong is an error here, never undefined behaviour behind it.
#include "capi/mlcb.h"

#include "runner/ModelRunner.h"

#include <algorithm>

using namespace mlcb;

struct mlcb_runner {
  Expected<std::unique_ptr<ModelRunner>> Opened;
  bool Bound = false;
  std::string Message, Task, Parameters;

  explicit mlcb_runner(Expected<std::unique_ptr<ModelRunner>> Opened) : Opened(std::move(Opened)) {}

  mlcb_status failed(const Error &Why) {
    Message = Why.Message;
    return static_cast<mlcb_status>(static_cast<int>(Why.Kind) + 1);
  }

  /// The status of a call, its value stored where it has one.
  template <class T> mlcb_status done(const Expected<T> &Result, T *Into) {
    if (!Result)
      return failed(Result.error());
    *Into = *Result;
    return MLCB_OK;
  }
  mlcb_status done(const Expected<void> &Result) { return Result ? MLCB_OK : failed(Result.error()); }
};

namespace {

static_assert(static_cast<int>(ErrorKind::InvalidArgument) + 1 == MLCB_INVALID_ARGUMENT);
static_assert(static_cast<int>(ErrorKind::NoAdvice) + 1 == MLCB_NO_ADVICE);
static_assert(static_cast<int>(DType::Bool) == MLCB_BOOL);
static_assert(static_cast<int>(EndReason::Exhausted) == MLCB_EXHAUSTED);

Unexpected invalid(std::string Why) { return fail(ErrorKind::InvalidArgument, std::move(Why)); }

std::string_view orEmpty(const char *Text) { return Text ? Text : ""; }

Expected<ModelRunner *> opened(mlcb_runner &R) {
  if (!R.Opened)
    return Unexpected(R.Opened.error());
  return R.Opened->get();
}

Expected<ModelRunner *> bound(mlcb_runner &R) {
  if (R.Opened && !R.Bound)
    return invalid("the runner is not bound to a task");
  return opened(R);
}

/// A runner and the agent, input or metric of it that a call is about.
struct Place {
  ModelRunner *Runner;
  size_t Agent, Index;

  const AgentSpec &agent() const { return Runner->spec().Task.Agents[Agent]; }
  const TensorSpec &input() const { return agent().Inputs[Index]; }
};

Expected<Place> agentOf(mlcb_runner &R, size_t Agent) {
  return bound(R).and_then([&](ModelRunner *Runner) -> Expected<Place> {
    if (const size_t Count = Runner->spec().Task.Agents.size(); Agent >= Count)
      return invalid("there is no agent " + std::to_string(Agent) + ", there are " + std::to_string(Count));
    return Place{Runner, Agent, 0};
  });
}

Expected<size_t> indexOf(const std::vector<TensorSpec> &Specs, std::string_view Name) {
  const auto Found = std::ranges::find(Specs, Name, &TensorSpec::Name);
  if (Found == Specs.end())
    return invalid("the task declares no '" + std::string(Name) + "' here");
  return static_cast<size_t>(Found - Specs.begin());
}

Expected<Place> inputOf(mlcb_runner &R, size_t Agent, const char *Name) {
  return agentOf(R, Agent).and_then(
      [&](Place Where) { return indexOf(Where.agent().Inputs, orEmpty(Name)).map([&](size_t Index) { return Place{Where.Runner, Agent, Index}; }); });
}

Expected<Place> metricOf(mlcb_runner &R, const char *Name) {
  return bound(R).and_then([&](ModelRunner *Runner) {
    return indexOf(Runner->spec().Task.Metrics, orEmpty(Name)).map([&](size_t Index) { return Place{Runner, 0, Index}; });
  });
}

/// A string has no elements, whatever type is asked for: mlcb_dtype is any int.
Expected<void> checkType(const TensorSpec &Spec, mlcb_dtype Type) {
  if (Spec.Type == DType::String)
    return invalid("'" + std::string(Spec.Name) + "' is of type string: use mlcb_text");
  if (static_cast<int>(Spec.Type) == static_cast<int>(Type))
    return {};
  return invalid("'" + std::string(Spec.Name) + "' is of type " + std::string(name(Spec.Type)) + ", not the one asked for");
}

Expected<void> checkShape(const TensorSpec &Spec, std::span<const int64_t> Shape) {
  if (Spec.allows(Shape))
    return {};
  return invalid("'" + std::string(Spec.Name) + "' cannot have the shape given, it is declared otherwise");
}

/// Into is where the advice goes.
Expected<Place> adviserOf(mlcb_runner &R, size_t Agent, AdviceKind Kind, const void *Into) {
  return agentOf(R, Agent).and_then([&](Place Where) -> Expected<Place> {
    if (!Into)
      return invalid("there is no place for the advice: it is NULL");
    if (Where.agent().Advice.Kind != Kind)
      return invalid("agent '" + std::string(Where.agent().Name) + "' gives " +
                     (Kind == AdviceKind::Value ? "an index: use mlcb_choose" : "a value: use mlcb_value"));
    return Where;
  });
}

mlcb_status bind(mlcb_runner &R, const Expected<BoundSpec> &Spec) {
  return R.done(opened(R).and_then([&](ModelRunner *Runner) -> Expected<void> {
    if (R.Bound)
      return invalid("the runner is bound already");
    if (!Spec)
      return Unexpected(Spec.error());
    return Runner->bind(*Spec).map([&] { R.Bound = true; });
  }));
}

} // namespace

int mlcb_api_version() noexcept { return MLCB_API_VERSION; }

mlcb_runner *mlcb_open(const char *Uri) noexcept {
  auto *R = new mlcb_runner(openRunner(orEmpty(Uri)));
  if (!R->Opened)
    R->failed(R->Opened.error());
  return R;
}

void mlcb_close(mlcb_runner *R) noexcept { delete R; }

const char *mlcb_error(const mlcb_runner *R) noexcept { return R->Message.c_str(); }

int mlcb_decides(const mlcb_runner *R) noexcept { return R->Opened && (*R->Opened)->decides(); }

const char *mlcb_task(mlcb_runner *R) noexcept {
  R->Task = R->Opened ? (*R->Opened)->task() : "";
  return R->Task.c_str();
}

const char *mlcb_parameters(mlcb_runner *R) noexcept {
  R->Parameters = R->Opened ? (*R->Opened)->parameters() : "{}";
  return R->Parameters.c_str();
}

mlcb_status mlcb_bind(mlcb_runner *R, const char *Spec) noexcept { return bind(*R, readSpec(orEmpty(Spec))); }

mlcb_status mlcb_bind_task(mlcb_runner *R, const char *Task, const char *Parameters) noexcept {
  const TaskSpec *Known = findTask(orEmpty(Task));
  if (!Known)
    return bind(*R, invalid("task '" + std::string(orEmpty(Task)) + "' is not one that this library knows"));
  return bind(*R, bindTask(*Known, Parameters ? Parameters : mlcb_parameters(R)));
}

void *mlcb_tensor(mlcb_runner *R, size_t Agent, const char *Input, mlcb_dtype Type) noexcept {
  void *Elements = nullptr;
  R->done(inputOf(*R, Agent, Input).and_then([&](Place Where) {
    return checkType(Where.input(), Type).map([&]() -> void * { return Where.Runner->bytes(Where.Index, Agent).data(); });
  }),
          &Elements);
  return Elements;
}

int mlcb_reads(mlcb_runner *R, size_t Agent, const char *Input) noexcept {
  int Reads = 0;
  R->done(inputOf(*R, Agent, Input).map([](Place Where) { return int(Where.Runner->reads(Where.Index, Where.Agent)); }), &Reads);
  return Reads;
}

mlcb_status mlcb_resize(mlcb_runner *R, size_t Agent, const char *Input, const int64_t *Shape, size_t Rank) noexcept {
  return R->done(inputOf(*R, Agent, Input).and_then([&](Place Where) -> Expected<void> {
    if (!Shape && Rank)
      return invalid("there is no shape: it is NULL");
    return checkShape(Where.input(), {Shape, Rank}).map([&] { Where.Runner->resize(Where.Index, {Shape, Rank}, Agent); });
  }));
}

mlcb_status mlcb_text(mlcb_runner *R, size_t Agent, const char *Input, const char *Text) noexcept {
  return R->done(inputOf(*R, Agent, Input).and_then([&](Place Where) -> Expected<void> {
    if (Where.input().Type != DType::String)
      return invalid("'" + std::string(Where.input().Name) + "' is not a string");
    Where.Runner->text(Where.Index, Agent) = orEmpty(Text);
    return {};
  }));
}

int mlcb_wants(mlcb_runner *R, const char *Metric) noexcept {
  int Wants = 0;
  R->done(metricOf(*R, Metric).map([](Place Where) { return int(Where.Runner->wants(Where.Index)); }), &Wants);
  return Wants;
}

void *mlcb_metric(mlcb_runner *R, const char *Metric, mlcb_dtype Type) noexcept {
  void *Element = nullptr;
  R->done(metricOf(*R, Metric).and_then([&](Place Where) {
    return checkType(Where.Runner->spec().Task.Metrics[Where.Index], Type).map([&]() -> void * {
      return Where.Runner->metricBytes(Where.Index).data();
    });
  }),
          &Element);
  return Element;
}

mlcb_status mlcb_choose(mlcb_runner *R, size_t Agent, int64_t *Index) noexcept {
  return R->done(adviserOf(*R, Agent, AdviceKind::Argmax, Index).and_then([&](Place Where) { return Where.Runner->evaluate<int64_t>(Agent); }),
                 Index);
}

mlcb_status mlcb_value(mlcb_runner *R, size_t Agent, double *Value) noexcept {
  return R->done(adviserOf(*R, Agent, AdviceKind::Value, Value).and_then([&](Place Where) { return Where.Runner->evaluate<double>(Agent); }), Value);
}

mlcb_status mlcb_end(mlcb_runner *R, mlcb_end_reason Why, size_t Agent) noexcept {
  return R->done(agentOf(*R, Agent).and_then([&](Place Where) -> Expected<void> {
    const auto Reason = Why >= 0 && Why <= UINT8_MAX ? endReason(static_cast<uint8_t>(Why)) : std::nullopt;
    return Reason ? Where.Runner->end(*Reason, Agent) : invalid("there is no reason " + std::to_string(Why));
  }));
}
