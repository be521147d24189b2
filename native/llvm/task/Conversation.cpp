// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/Conversation.h"

#include "llvm/task/Remark.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;

namespace mlcb {

static std::optional<size_t> metricOf(const TaskSpec &Task, StringRef Name) {
  const auto Found =
      find_if(Task.Metrics, [&](const mlcb::TensorSpec &Metric) { return Metric.Name == std::string_view(Name) && Metric.Type == DType::Float64; });
  return Found == Task.Metrics.end() ? std::nullopt : std::optional<size_t>(Found - Task.Metrics.begin());
}

Conversation::Conversation(Module &M, ModelRunner &Policy, const EpisodeRequest &Request, Measurement Measure)
    : M(M), Policy(Policy), Measure(std::move(Measure)), Verifies(Request.Verify), SecondsMetric(metricOf(Policy.spec().Task, "llvm_seconds")) {}

Conversation::~Conversation() = default;

/// From here to beginTurn() it is the policy's time.
Expected<void> Conversation::endTurn() {
  ++Asked;
  Work.pause();
  if (isMeasured())
    if (auto Measured = Measure(); !Measured)
      return Measured;
  writeSeconds();
  return {};
}

/// Seconds that were reported are not reported again; where metrics come at the end alone, none were.
void Conversation::beginTurn() {
  if (!Policy.measuresEndAlone())
    Work.reset();
  Work.resume();
}

void Conversation::writeSeconds() {
  if (SecondsMetric)
    Policy.metric<double>(*SecondsMetric) = Work.seconds();
}

Expected<EndReason> Conversation::finish(function_ref<Expected<void>()> Final, std::optional<EndReason> Why) {
  Work.pause();
  if (Failure)
    return Unexpected(*Failure);
  if (auto Measured = Final(); !Measured)
    return Unexpected(Measured.error());
  writeSeconds();
  remark("Decisions", Twine(Policy.spec().Task.Name) + ": " + Twine(Asked) + (Asked == 1 ? " decision" : " decisions"), M);
  const EndReason Reason = Why.value_or(Asked == 0 ? EndReason::NoDecisions : EndReason::Exhausted);
  return Policy.end(Reason).map([Reason] { return Reason; });
}

Expected<void> Conversation::verify(const Twine &Culprit) const {
  if (Verifies && verifyModule(M))
    return fail(ErrorKind::InvalidArgument, (Culprit + " leaves a module that LLVM's verifier refuses").str());
  return {};
}

const Error &Conversation::abandon(Error Why) {
  if (!Failure)
    Failure = std::move(Why);
  return *Failure;
}

} // namespace mlcb
