// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/posetrl/Observation.h"

#include "spec/Tasks.h"
#include "llvm/pipeline/Level.h"
#include "llvm/task/Metrics.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

using Feature = posetrl::orderer;
using posetrl::Metric;

Expected<void> PosetRLObservation::baselines(const Module &Loaded, BaselineMeter Meter) {
  if (Policy.wants(Metric::size_unoptimized)) // without always-inline a program is not all there
    Policy.metric<int64_t>(Metric::size_unoptimized) = Meter.after("always-inline", Loaded).Size;
  return writeBaselines<Metric>(Policy, Meter, Level::Oz.Pipeline, Loaded,
                                {Metric::size_oz, Metric::text_oz, Metric::ir_instructions_oz, Metric::throughput_oz});
}

bool PosetRLObservation::embeds(const ModelRunner &Policy, bool IsCompared) { return IsCompared || Policy.reads(Feature::embedding); }

void PosetRLObservation::module(Module &M) {
  ModuleView View;
  if (embeds(Policy, IsCompared))
    View.Embedding = Policy.tensor<float>(Feature::embedding);
  if (IsCompared || Policy.reads(Feature::opcodes))
    View.Opcodes = Policy.tensor<int64_t>(Feature::opcodes);
  if (IsCompared || Policy.reads(Feature::properties))
    View.Properties = Policy.tensor<int64_t>(Feature::properties);
  Observer.observe(M, View);
  int64_t Instructions = M.getInstructionCount();
  if (InitialInstructions < 0)
    InitialInstructions = Instructions;
  auto Counts = Policy.tensor<int64_t>(Feature::instructions);
  Counts[0] = Instructions;
  Counts[1] = InitialInstructions;
}

void PosetRLObservation::history(ArrayRef<int64_t> Taken, int64_t MaxSteps) {
  Policy.tensor<float>(Feature::progress)[0] = static_cast<float>(Taken.size()) / static_cast<float>(MaxSteps);
  auto Last = Policy.tensor<int64_t>(Feature::last_actions);
  for (size_t Ago = 0; Ago < Last.size(); ++Ago)
    Last[Ago] = Ago < Taken.size() ? Taken[Taken.size() - 1 - Ago] : -1;
}

void PosetRLObservation::mask(const ActionMask &Mask) { Mask.write(Policy.tensor<int8_t>(Feature::action_mask)); }

Expected<void> PosetRLObservation::metrics(const Module &M) { return fillMetrics<Metric>(Policy, M, Target); }

uint64_t PosetRLObservation::fingerprint() const {
  auto Hash = [](auto Values) { return hash_combine_range(Values.begin(), Values.end()); };
  auto Embedding = Policy.tensor<float>(Feature::embedding); // by its bits: hashing knows no floats
  return hash_combine(Hash(ArrayRef(reinterpret_cast<const char *>(Embedding.data()), Embedding.size_bytes())),
                      Hash(Policy.tensor<int64_t>(Feature::opcodes)), Hash(Policy.tensor<int64_t>(Feature::properties)));
}

} // namespace mlcb
