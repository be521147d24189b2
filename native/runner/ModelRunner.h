// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiler's interface to a policy. Three lines: open a runner from a URI and bind the task, fill tensors, evaluate.
#pragma once

#include "channel/Channel.h"
#include "channel/Uri.h"
#include "protocol/Messages.h"
#include "spec/TaskSpec.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace mlcb {

/// A policy as the compiler sees it: remote, in process, or the compiler's own heuristic. Belongs to one thread.
///
/// Order of calls: task(), parameters(), bind(), then for each decision: tensor() of every input of the agent, metric() of those
/// wanted (unless measuresEndAlone()), evaluate(); at the end of the episode the same filling, metrics in any case, and end().
class ModelRunner {
  static constexpr std::align_val_t Alignment{64};
  struct AlignedDelete {
    void operator()(std::byte *Bytes) const { ::operator delete[](Bytes, Alignment); }
  };

public:
  /// A tensor that the compiler fills.
  struct Buffer {
    DType Type;
    size_t Elements;
    std::vector<int64_t> Shape;
    std::unique_ptr<std::byte[], AlignedDelete> Bytes;
    std::string Text; // of a string, instead of Bytes

    explicit Buffer(const TensorSpec &Spec);
    void resize(std::span<const int64_t> Shape);
    std::span<std::byte> bytes();
    std::span<const std::byte> bytes() const;

    /// Another element type than declared is a bug of the caller that would write beyond the buffer.
    template <ElementType T> std::span<T> as() {
      if (Type != dtypeOf<T>())
        std::abort();
      return {reinterpret_cast<T *>(Bytes.get()), Elements};
    }
  };

  ModelRunner() = default;
  ModelRunner(const ModelRunner &) = delete;
  ModelRunner &operator=(const ModelRunner &) = delete;
  virtual ~ModelRunner();

  /// Whether a policy decides. If not, the compiler follows its own heuristic and never calls evaluate().
  virtual bool decides() const { return true; }

  /// Whether the policy is in another process: then it must be asked once only.
  virtual bool isRemote() const { return false; }

  /// The task that the policy (or the learner) is for; empty if for any.
  virtual std::string_view task() const = 0;

  /// The JSON object of task parameters that the policy (or the learner) asks the compiler to bind the task with.
  virtual std::string_view parameters() const = 0;

  /// The architecture that the policy was taught for, as x86_64; empty where that is not known.
  virtual std::string_view target() const { return {}; }

  /// Allocates the tensors of every agent. A digest other than the policy's is a SpecMismatch.
  Expected<void> bind(BoundSpec Spec);

  const BoundSpec &spec() const { return Spec; }

  /// The buffer of an input, to be filled before evaluate(). It stays at its place for the life of the runner, and is zero at first.
  /// An input with varying dimensions has its maximal shape until resize().
  template <ElementType T, class Feature> std::span<T> tensor(Feature F, size_t Agent = 0) {
    return Inputs[Agent][static_cast<size_t>(F)].template as<T>();
  }

  /// Gives an input with varying dimensions its true shape for the next evaluate(). One that the declaration does not allow
  /// is a bug of the caller that would write beyond the buffer.
  template <ElementType T, class Feature> std::span<T> resize(Feature F, std::span<const int64_t> Shape, size_t Agent = 0) {
    resize(static_cast<size_t>(F), Shape, Agent);
    return tensor<T>(F, Agent);
  }

  void resize(size_t Input, std::span<const int64_t> Shape, size_t Agent);

  /// An input or metric by its index, for callers that know its type at run time only.
  std::span<std::byte> bytes(size_t Input, size_t Agent) { return Inputs[Agent][Input].bytes(); }
  std::span<std::byte> metricBytes(size_t Metric) { return Metrics[Metric].bytes(); }

  /// The text of a string input.
  template <class Feature> std::string &text(Feature F, size_t Agent = 0) { return Inputs[Agent][static_cast<size_t>(F)].Text; }

  /// Whether the policy looks at an input at all; one that it does not read may be left as it is.
  template <class Feature> bool reads(Feature F, size_t Agent = 0) const { return readsInput(static_cast<size_t>(F), Agent); }
  virtual bool readsInput(size_t, size_t) const { return true; }

  /// Whether end() is told the last state; if not, the tensors need not be filled for it.
  virtual bool observesEnd() const { return true; }

  /// Whether the learner wants metrics of the end of the episode alone.
  bool measuresEndAlone() const { return WantedWhen == Measure::End; }

  /// Whether the learner wants this metric beside its observations; an in-process policy wants none.
  template <class Metric> bool wants(Metric M) const { return WantedMetrics[static_cast<size_t>(M)]; }

  template <ElementType T, class Metric> T &metric(Metric M) { return Metrics[static_cast<size_t>(M)].template as<T>()[0]; }

  /// The advice of the agent for what its tensors hold now: an index for argmax (always one the mask allows), a float for value.
  template <class T> Expected<T> evaluate(size_t Agent = 0) {
    if constexpr (std::is_floating_point_v<T>)
      return value(Agent).map([](double V) { return static_cast<T>(V); });
    else
      return choose(Agent).map([](int64_t V) { return static_cast<T>(V); });
  }

  /// Tells the policy that the episode is over; the agent's tensors hold the last state.
  virtual Expected<void> end(EndReason Why, size_t Agent = 0);

protected:
  /// Refuses the spec, or sets WantedMetrics, WantedWhen and whatever else needs the buffers.
  virtual Expected<void> onBind() = 0;
  virtual Expected<int64_t> choose(size_t Agent) = 0;
  virtual Expected<double> value(size_t Agent) = 0;

  /// The mask of an agent, as its tensors hold it now; empty if it has none.
  std::span<const int8_t> mask(size_t Agent) const;

  BoundSpec Spec;
  std::vector<std::vector<Buffer>> Inputs; // [agent][input]
  std::vector<Buffer> Metrics;
  std::vector<bool> WantedMetrics;
  Measure WantedWhen = Measure::Always;
};

/// Opens `pipe:BASE[?serdes=...&timeout=...]`, `shm:PATH[?...]`, `onnx:FOLDER`, `onnx:MODEL.onnx`, `aot:POLICY.so`, `default:`, or what
/// a RunnerRegistration names. A scheme whose library is absent is one clear error.
Expected<std::unique_ptr<ModelRunner>> openRunner(std::string_view Uri, const InterruptCheck &Interrupted = {});

/// Makes a kind of runner known, by the scheme of its URIs; one static object beside it.
class RunnerRegistration {
public:
  /// Rest is what the URI has after its colon.
  using Open = Expected<std::unique_ptr<ModelRunner>> (*)(std::string_view Rest);

  /// Likewise, of a runner that waits for a learner.
  using OpenWaiting = Expected<std::unique_ptr<ModelRunner>> (*)(const Uri &Where, const InterruptCheck &Interrupted);

  RunnerRegistration(std::string_view Scheme, Open OpenIt) : RunnerRegistration(Scheme, OpenIt, nullptr) {}
  RunnerRegistration(std::string_view Scheme, OpenWaiting OpenIt) : RunnerRegistration(Scheme, nullptr, OpenIt) {}

  /// Null if nobody registered the scheme.
  static const RunnerRegistration *find(std::string_view Scheme);

  Expected<std::unique_ptr<ModelRunner>> open(const Uri &Where, const InterruptCheck &Interrupted) const;

private:
  RunnerRegistration(std::string_view Scheme, Open Simple, OpenWaiting Waiting)
      : Scheme(Scheme), Simple(Simple), Waiting(Waiting), Next(std::exchange(Head, this)) {}

  static const RunnerRegistration *Head;
  std::string_view Scheme;
  Open Simple;
  OpenWaiting Waiting;
  const RunnerRegistration *Next;
};

} // namespace mlcb
